"""Tiny models of Hugging Face with random weights, and a tokenizer that is trained on a few sentences."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

library: Any = transformers  # whose types are not strict
TEXT = ["Eat each pill to score. Avoid the ghost. Yes No should you hit a question answer"] * 3
LONGEST = 80
SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
LARGE: Any = {"initializer_range": 0.5}  # weights that make a difference


def make(folder: Path, kind: str, **options: Any) -> Path:
    """Writes a model that one class of transformers loads; returns its folder."""
    tokenizer = _tokenizer(**options)
    torch.manual_seed(0)
    tokens = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "vocab_size": len(tokenizer)}
    roberta = {**SIZES, **LARGE, **tokens, "max_position_embeddings": LONGEST + 2}
    classes = {
        "extractive": lambda: library.RobertaForQuestionAnswering(library.RobertaConfig(**roberta)),
        "nli": lambda: library.RobertaForSequenceClassification(
            library.RobertaConfig(
                **roberta, id2label=dict(enumerate(("CONTRADICTION", "neutral", "ENTAILMENT"))), num_labels=3
            )
        ),
        "causal": lambda: library.LlamaForCausalLM(
            library.LlamaConfig(**SIZES, **LARGE, **tokens, max_position_embeddings=LONGEST)
        ),
        "seq2seq": lambda: library.T5ForConditionalGeneration(
            library.T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, **tokens, decoder_start_token_id=1)
        ),
    }
    tokenizer.save_pretrained(folder)
    model = classes[kind]()
    if kind == "causal":
        model.generation_config.do_sample = True  # what a model's own file wishes does not count
    model.save_pretrained(folder)
    return folder


def _tokenizer(chat_template: str | None = None) -> Any:  # its class depends on the version of transformers
    inner = Tokenizer(models.BPE(unk_token="<unk>"))  # noqa: S106  no password
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=names, initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(TEXT, trainer)
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    bos, pad, eos, unk = names
    return library.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=bos, cls_token=bos, eos_token=eos, sep_token=eos, pad_token=pad,
        unk_token=unk, model_max_length=LONGEST, chat_template=chat_template,
    )  # fmt: skip
