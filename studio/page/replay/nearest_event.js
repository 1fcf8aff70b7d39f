// Which step a click on the chart means: a spike nearby, for those of a long episode are thinner than a pixel.

/**
 * @param {{steps: number[], rewards: any[]}} drawn
 * @param {number} at where it was clicked, in steps
 * @param {number} reach so far to both sides, in steps
 */
export function nearestEvent({ steps, rewards }, at, reach) {
  let found = Math.round(at);
  let greatest = 0;
  for (let index = firstFrom(steps, at - reach); index < steps.length && steps[index] <= at + reach; index += 1) {
    const size = Math.abs(Number(rewards[index])) || 0;
    const isNearer = size === greatest && size > 0 && Math.abs(steps[index] - at) < Math.abs(found - at);
    if (size > greatest || isNearer) {
      found = steps[index];
      greatest = size;
    }
  }
  return found;
}

function firstFrom(steps, least) {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
