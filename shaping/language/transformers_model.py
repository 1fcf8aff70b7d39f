"""Models of Hugging Face that generate text: causal ones and sequence-to-sequence ones."""

from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from rlds_kit.base.extras import needs
from rlds_kit.shaping.language.model import ModelError
from rlds_kit.shaping.language.pretrained import Pretrained, load
from rlds_kit.shaping.manuals.model_reply import ModelReply

Kind = Literal["causal", "seq2seq"]
_CLASSES: Final = {"causal": "AutoModelForCausalLM", "seq2seq": "AutoModelForSeq2SeqLM"}
_CANDIDATES: Final = 20


@dataclass(frozen=True, eq=False)
class TransformersModel:
    """A causal model, or a sequence-to-sequence one. It chooses the most probable token at each position.

    A causal model with a chat template gets instructions and prompt as messages, others get them as paragraphs.

    Attributes:
      pretrained: the model.
      kind: "causal" or "seq2seq".
    """

    pretrained: Pretrained
    kind: Kind

    @classmethod
    def load(cls, name: str, kind: Kind = "causal", *, is_offline: bool = False) -> Self:
        """Loads a model from a folder or the Hugging Face hub. Arguments and errors as for `pretrained.load`."""
        return cls(load(_CLASSES[kind], name, is_offline=is_offline), kind)

    @property
    def fingerprint(self) -> str:
        """See `LanguageModel`."""
        return f"{self.kind}-1 {self.pretrained.fingerprint} greedy"

    def say(self, system: str, prompt: str, *, most_tokens: int) -> ModelReply:
        """See `LanguageModel`.

        Raises:
          ModelError: instructions, prompt and text are longer than the model can read.
        """
        tokenizer, network = self.pretrained.tokenizer, self.pretrained.network
        inputs = self._inputs(system, prompt)
        self._require_length(inputs["input_ids"].shape[1], most_tokens)
        made = network.generate(**inputs, generation_config=self._greedy(most_tokens))
        first = 1 if self.kind == "seq2seq" else inputs["input_ids"].shape[1]  # after the start token, or the prompt
        text = tokenizer.decode(made.sequences[0, first:], skip_special_tokens=True)
        return ModelReply(
            self.pretrained.fingerprint, 0, system, prompt, text.strip(), self._candidates(made.scores[0][0])
        )

    def _greedy(self, most_tokens: int) -> Any:
        """A configuration without the model's own settings of sampling and penalties."""
        with needs("transformers"):
            import transformers
        own = self.pretrained.network.generation_config
        names = ("bos_token_id", "eos_token_id", "decoder_start_token_id")
        config: Any = transformers.GenerationConfig  # its initializer has no types
        return config(
            do_sample=False,
            num_beams=1,
            max_new_tokens=most_tokens,
            output_scores=True,
            return_dict_in_generate=True,
            pad_token_id=self.pretrained.tokenizer.eos_token_id if own.pad_token_id is None else own.pad_token_id,
            **{name: getattr(own, name) for name in names},
        )

    def _inputs(self, system: str, prompt: str) -> Any:
        tokenizer = self.pretrained.tokenizer
        if self.kind == "causal" and tokenizer.chat_template:
            messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
            text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            return tokenizer(text, return_tensors="pt", add_special_tokens=False, return_token_type_ids=False)
        text = f"{system}\n\n{prompt}".strip()
        return tokenizer(text, return_tensors="pt", return_token_type_ids=False)

    def _require_length(self, tokens: int, most_tokens: int) -> None:
        most = getattr(self.pretrained.network.config, "max_position_embeddings", None)
        needed = tokens + (most_tokens if self.kind == "causal" else 0)
        if most is not None and needed > most:
            raise ModelError(
                f"{self.pretrained.name}: expected at most {most} tokens, got {needed}: use smaller chunks of the "
                "manual, or a model with a longer context"
            )

    def _candidates(self, scores: Any) -> tuple[tuple[str, float], ...]:
        found = scores.float().log_softmax(-1).topk(min(_CANDIDATES, scores.shape[-1]))
        tokens = (self.pretrained.tokenizer.decode([each]) for each in found.indices.tolist())
        return tuple(zip(tokens, (min(each, 0.0) for each in found.values.tolist()), strict=True))
