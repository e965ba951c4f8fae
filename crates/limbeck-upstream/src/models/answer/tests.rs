use serde_json::json;

use super::*;

const ANTHROPIC: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\"usage\":{\"input_tokens\":7,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Grüße, \"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"world\"}}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":9}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);
const OPENAI: &str = concat!(
    "data: {\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    ": keep-alive\n\n",
    "data: {\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüße, \"}}]}\r\n\r\n",
    "data: {\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"world\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":9}}\n\n",
    "data: [DONE]\n\n",
);
const GEMINI: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"Grüße, \"}],\"role\":\"model\"}}],\"modelVersion\":\"gemini-x\"}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"world\"}]},\"finishReason\":\"MAX_TOKENS\"}],\"usageMetadata\":{\"promptTokenCount\":12,\"candidatesTokenCount\":4,\"thoughtsTokenCount\":5},\"modelVersion\":\"gemini-x\"}\r\n\r\n",
);
const STREAMS: [(WireFormat, &str, &str); 3] = [
    (WireFormat::Anthropic, ANTHROPIC, "claude-x"),
    (WireFormat::OpenAi, OPENAI, "gpt-x"),
    (WireFormat::Gemini, GEMINI, "gemini-x"),
];

fn expected(model: &str) -> ModelAnswer {
    ModelAnswer {
        text: "Grüße, world".to_owned(),
        model: Some(model.to_owned()),
        stop_reason: Some("maxTokens".to_owned()),
        input_tokens: Some(12),
        output_tokens: Some(9),
    }
}

/// Reads an answer that arrives in these parts.
fn read(
    format: WireFormat,
    content_type: Option<&str>,
    parts: &[&[u8]],
) -> Result<ModelAnswer, AnswerProblem> {
    let mut reader = AnswerReader::new(format, content_type);
    for part in parts {
        reader.read(Bytes::copy_from_slice(part))?;
    }
    reader.finish()
}

#[test]
fn an_answer_is_the_same_wherever_its_stream_is_cut_in_two_and_in_single_bytes() {
    for (format, stream, model) in STREAMS {
        let stream = stream.as_bytes();
        for content_type in [Some("text/event-stream; charset=utf-8"), None] {
            for at in 0..=stream.len() {
                let parts = [&stream[..at], &stream[at..]];
                assert_eq!(
                    read(format, content_type, &parts),
                    Ok(expected(model)),
                    "{at}"
                );
            }
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(read(format, content_type, &bytes), Ok(expected(model)));
        }
    }
}

#[test]
fn a_stream_that_ends_at_any_byte_before_its_end_is_no_answer() {
    for (format, stream, _) in STREAMS {
        // Behind it the reason for the end has arrived.
        let reason = ["max_tokens\"", "length\"", "MAX_TOKENS\""];
        let reason = reason.iter().find_map(|it| stream.find(it)).unwrap();
        let last = stream[reason..].find("\n").unwrap() + reason;
        for at in 0..=last {
            let cut = read(
                format,
                Some("text/event-stream"),
                &[&stream.as_bytes()[..at]],
            );
            assert!(
                matches!(cut, Err(AnswerProblem::Cut { .. })),
                "{format:?} {at}: {cut:?}"
            );
        }
    }
}

#[test]
fn an_answer_without_a_stream_is_read_whole_or_not_at_all() {
    let documents = [
        (
            WireFormat::Anthropic,
            json!({"model": "claude-x", "content": [{"type": "text", "text": "Grüße, world"}], "stop_reason": "max_tokens", "usage": {"input_tokens": 12, "output_tokens": 9}}),
            "claude-x",
        ),
        (
            WireFormat::OpenAi,
            json!({"model": "gpt-x", "choices": [{"message": {"content": "Grüße, world"}, "finish_reason": "length"}], "usage": {"prompt_tokens": 12, "completion_tokens": 9}}),
            "gpt-x",
        ),
        (
            WireFormat::Gemini,
            json!([{"modelVersion": "gemini-x", "candidates": [{"content": {"parts": [{"text": "Grüße, world"}]}, "finishReason": "MAX_TOKENS"}], "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 9}}]),
            "gemini-x",
        ),
    ];
    for (format, document, model) in documents {
        let text = document.to_string();
        for content_type in [Some("application/json"), None] {
            assert_eq!(
                read(format, content_type, &[text.as_bytes()]),
                Ok(expected(model))
            );
            let cut = read(format, content_type, &[&text.as_bytes()[..text.len() - 1]]);
            assert!(matches!(cut, Err(AnswerProblem::Cut { .. })), "{cut:?}");
        }
    }
}

#[test]
fn errors_lies_and_floods_are_no_answers() {
    let events = Some("text/event-stream");
    for (format, body) in [
        (
            WireFormat::Anthropic,
            "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        ),
        (
            WireFormat::OpenAi,
            "data: {\"error\":{\"message\":\"Overloaded\"}}\n\n",
        ),
        (
            WireFormat::Gemini,
            "data: {\"error\":{\"code\":503,\"message\":\"Overloaded\"}}\n\n",
        ),
    ] {
        let said = AnswerProblem::Reported("Overloaded".to_owned());
        assert_eq!(read(format, events, &[body.as_bytes()]), Err(said));
        for wrong in ["data: {]\n\n", "data: \"x\n\n"] {
            let problem = read(format, events, &[wrong.as_bytes()]);
            assert!(
                matches!(problem, Err(AnswerProblem::Form(_))),
                "{problem:?}"
            );
        }
        // Members of other types than the format says are as if they were absent.
        let odd = "data: {\"choices\":7,\"type\":[],\"candidates\":{},\"usage\":\"x\"}\n\n";
        let odd = read(format, events, &[odd.as_bytes()]);
        assert!(matches!(odd, Err(AnswerProblem::Cut { .. })), "{odd:?}");
        let deep = format!("data: {}\n\n", "[".repeat(100_000));
        assert!(read(format, events, &[deep.as_bytes()]).is_err());
        assert!(matches!(
            read(format, Some("application/json"), &[b"{}"]),
            Err(AnswerProblem::Form(_))
        ));
    }
    let mut reader = AnswerReader::new(WireFormat::OpenAi, events);
    let delta = json!({"choices": [{"delta": {"content": "x".repeat(900_000)}}]});
    let delta = Bytes::from(format!("data: {delta}\n\n"));
    assert!(reader.read(delta.clone()).is_ok());
    assert!(reader.read(delta.clone()).is_ok());
    assert_eq!(
        reader.read(delta),
        Err(AnswerProblem::TooLarge(
            super::super::partial_answer::TEXT_BYTES_MAX
        ))
    );
    let mut reader = AnswerReader::new(WireFormat::OpenAi, events);
    let endless = Bytes::from(vec![b'x'; EVENT_BYTES_MAX + 1]);
    assert_eq!(
        reader.read(endless),
        Err(AnswerProblem::TooLarge(EVENT_BYTES_MAX))
    );
}

#[test]
fn what_comes_after_the_end_is_not_read() {
    let more =
        format!("{OPENAI}data: {{\"choices\":[{{\"delta\":{{\"content\":\"more\"}}}}]}}\n\n");
    assert_eq!(
        read(WireFormat::OpenAi, None, &[more.as_bytes()]),
        Ok(expected("gpt-x"))
    );
}
