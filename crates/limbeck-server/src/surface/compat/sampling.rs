//! What an earlier system's tool says about questions to models, and what its result says of them.

use limbeck_gateway::{ModelCall, ModelCalls, ModelsRequest};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::alias::{Alias, ArgumentMeaning};
use super::argument_rules::whole_number;

/// System prompts that code-executor-mcp allowed where its user named none.
const SYSTEM_PROMPTS: [&str; 2] = [
    "You are a helpful assistant",
    "You are a code analysis expert",
];

/// What the arguments say about questions to models. A tool without such an argument leaves it to the configuration.
pub(super) fn request(alias: &Alias, arguments: &JsonObject) -> ModelsRequest {
    let Some(flag) = alias.argument(ArgumentMeaning::Sampling) else {
        return ModelsRequest::default();
    };
    let of = |meaning: ArgumentMeaning| arguments.get(alias.argument(meaning)?);
    let number = |meaning: ArgumentMeaning| whole_number(of(meaning)?);
    let system_prompt = of(ArgumentMeaning::SamplingSystemPrompt).and_then(Value::as_str);
    let system_prompt = system_prompt.filter(|prompt| !prompt.is_empty());
    let models = of(ArgumentMeaning::SamplingModels).and_then(Value::as_array);
    let prompts = SYSTEM_PROMPTS.into_iter().chain(system_prompt);
    ModelsRequest {
        is_off: arguments.get(flag).and_then(Value::as_bool) != Some(true),
        is_asked_for: true,
        rounds: number(ArgumentMeaning::SamplingRounds).and_then(|it| u32::try_from(it).ok()),
        tokens: number(ArgumentMeaning::SamplingTokens).and_then(|it| u64::try_from(it).ok()),
        system_prompt: system_prompt.map(str::to_owned),
        models: models.map(|names| {
            let names = names.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        }),
        system_prompts: Some(prompts.map(str::to_owned).collect()),
        filters: true,
    }
}

/// `samplingCalls` of a result.
pub(super) fn calls(calls: &ModelCalls) -> Value {
    calls.calls.iter().map(call).collect()
}

fn call(call: &ModelCall) -> Value {
    json!({
        "model": call.model,
        "messages": call.messages,
        "systemPrompt": call.system_prompt,
        "response": {
            "content": [{"type": "text", "text": call.text}],
            "stopReason": call.stop_reason,
            "model": call.model,
            "usage": {"inputTokens": call.input_tokens, "outputTokens": call.output_tokens},
        },
        "durationMs": call.took_ms,
        "tokensUsed": call.input_tokens.saturating_add(call.output_tokens),
        "timestamp": call.at,
    })
}

/// `samplingMetrics` of a result.
pub(super) fn metrics(calls: &ModelCalls) -> Value {
    let rounds = u64::from(calls.rounds);
    json!({
        "totalRounds": calls.rounds,
        "totalTokens": calls.tokens,
        "totalDurationMs": calls.took_ms,
        "averageTokensPerRound": calls.tokens.checked_div(rounds).unwrap_or(0),
        "quotaRemaining": {"rounds": calls.rounds_left, "tokens": calls.tokens_left},
    })
}

#[cfg(test)]
mod tests {
    use super::super::alias::alias_named;
    use super::*;

    fn of(tool: &str, arguments: Value) -> ModelsRequest {
        request(alias_named(tool).unwrap(), arguments.as_object().unwrap())
    }

    #[test]
    fn only_the_flag_turns_questions_on_and_the_rest_narrows_them() {
        for tool in ["executeTypescript", "executePython"] {
            assert!(of(tool, json!({})).is_off);
            assert!(
                of(
                    tool,
                    json!({"enableSampling": false, "maxSamplingRounds": 5})
                )
                .is_off
            );
            let asked = of(
                tool,
                json!({
                    "enableSampling": true, "maxSamplingRounds": 3, "maxSamplingTokens": 100,
                    "samplingSystemPrompt": "Be terse", "allowedSamplingModels": ["m"],
                }),
            );
            assert!(!asked.is_off && asked.filters);
            assert_eq!((asked.rounds, asked.tokens), (Some(3), Some(100)));
            assert_eq!(asked.models, Some(vec!["m".to_owned()]));
            assert!(
                asked
                    .system_prompts
                    .unwrap()
                    .contains(&"Be terse".to_owned())
            );
        }
        assert_eq!(of("execute_code", json!({})), ModelsRequest::default());
    }

    #[test]
    fn each_round_and_the_sum_have_the_fields_of_the_system() {
        let one = ModelCall {
            model: "m".to_owned(),
            messages: json!([{"role": "user", "content": "p"}]),
            system_prompt: String::new(),
            text: "a".to_owned(),
            stop_reason: "endTurn".to_owned(),
            input_tokens: 3,
            output_tokens: 4,
            took_ms: 5,
            at: "2023-11-14T22:13:20.123Z".to_owned(),
        };
        let all = ModelCalls {
            is_enabled: true,
            calls: vec![one],
            rounds: 2,
            tokens: 7,
            took_ms: 5,
            rounds_left: 8,
            tokens_left: 93,
        };
        assert_eq!(
            calls(&all),
            json!([{
                "model": "m", "messages": [{"role": "user", "content": "p"}], "systemPrompt": "",
                "response": {
                    "content": [{"type": "text", "text": "a"}], "stopReason": "endTurn", "model": "m",
                    "usage": {"inputTokens": 3, "outputTokens": 4},
                },
                "durationMs": 5, "tokensUsed": 7, "timestamp": "2023-11-14T22:13:20.123Z",
            }])
        );
        assert_eq!(
            metrics(&all),
            json!({
                "totalRounds": 2, "totalTokens": 7, "totalDurationMs": 5, "averageTokensPerRound": 3,
                "quotaRemaining": {"rounds": 8, "tokens": 93},
            })
        );
    }
}
