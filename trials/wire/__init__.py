"""What trials and programs elsewhere send each other, as JSON: messages, their schemas, and arrays in them."""
