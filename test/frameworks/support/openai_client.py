"""The openai package for Python against a gateway; prints what came of each case as one JSON object."""

import asyncio
import json
import sys
import traceback

import openai

base_url, model, worker = sys.argv[1], sys.argv[2], sys.argv[3]
client = openai.OpenAI(base_url=base_url + "/v1", api_key="sk-none", max_retries=0)
messages = [{"role": "user", "content": "Hello there!"}]
results = {}


def case(work):
    try:
        results[work.__name__] = work()
    except Exception:
        results[work.__name__] = {"failed": traceback.format_exc()}


def name_of_error(work):
    try:
        work()
    except openai.APIError as error:
        return {
            "class": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "code": error.code,
            "has_request_id": bool(getattr(error, "request_id", None)),
        }
    return None


@case
def models():
    return [each.id for each in client.models.list()]


@case
def chat():
    raw = client.chat.completions.with_raw_response.create(model=model, messages=messages)
    answer = raw.parse()
    return {
        "words": len(answer.choices[0].message.content.split()),
        "finish": answer.choices[0].finish_reason,
        "total": answer.usage.total_tokens,
        "is_worker": raw.headers.get("x-smg-routed-worker-id") == worker,
    }


@case
def stream():
    whole = client.chat.completions.create(model=model, messages=messages)
    text, usage = "", None
    for chunk in client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True}
    ):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
    return {"same": text == whole.choices[0].message.content, "tokens": usage.completion_tokens}


@case
def completions():
    return len(client.completions.create(model=model, prompt=["a", "b"]).choices)


@case
def embeddings():
    packed = client.embeddings.create(model=model, input=["one", "two"])
    floats = client.embeddings.create(model=model, input=["one", "two"], encoding_format="float")
    pairs = zip(packed.data[0].embedding, floats.data[0].embedding)
    return {"count": len(packed.data), "same": all(abs(a - b) < 1e-6 for a, b in pairs)}


@case
def responses():
    made = client.responses.create(model=model, input="Tell me.")
    found = client.responses.retrieve(made.id)
    types = [event.type for event in client.responses.create(model=model, input="x", stream=True)]
    return {
        "words": len(made.output_text.split()),
        "same": found.output_text == made.output_text,
        "ends": [types[0], types[-1]],
    }


@case
def transcription():
    return client.audio.transcriptions.create(model=model, file=("a.wav", b"RIFF....")).text


@case
def extra_body():
    made = client.chat.completions.create(
        model=model,
        messages=messages,
        extra_body={"return_token_ids": True, "cache_salt": "7"},
        extra_headers={"X-Session-ID": "s"},
    )
    return len(made.model_extra["prompt_token_ids"])


@case
def unknown_model():
    return name_of_error(
        lambda: client.chat.completions.create(model="nobody", messages=messages)
    )


@case
def bad_request():
    return name_of_error(lambda: client.chat.completions.create(model=model, messages=[]))


@case
def wrong_timeout():
    hasty = client.with_options(timeout=0.05)
    return name_of_error(
        lambda: hasty.chat.completions.create(
            model=model, messages=messages, extra_headers={"x-request-id-case": "slow"}
        )
    )


@case
def tries_again():
    patient = client.with_options(max_retries=2)
    made = patient.chat.completions.create(
        model=model, messages=messages, extra_headers={"x-request-id-case": "busy"}
    )
    return len(made.choices)


@case
def leaves_stream():
    with client.chat.completions.create(model=model, messages=messages, stream=True) as chunks:
        for _ in chunks:
            break
    return "left"


@case
def many_at_once():
    async def work():
        async with openai.AsyncOpenAI(
            base_url=base_url + "/v1", api_key="sk-none", max_retries=0
        ) as many:
            asked = [
                many.chat.completions.create(model=model, messages=messages) for _ in range(32)
            ]
            return len({answer.id for answer in await asyncio.gather(*asked)})

    return asyncio.run(work())


print(json.dumps(results))
