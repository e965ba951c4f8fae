//! Questions of programs to models: who answers, what it costs, and that they are calls like any other.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::{Envelope, ErrorKind, ExecutionStatus, JournalEntry};
use limbeck_gateway::{ExecuteRequest, Gateway, ModelsConfig, ModelsRequest};
use limbeck_policy::rules::{Effect, Layer, Preset, Rule, RuleSet};
use limbeck_policy::{Policy, Scope};
use limbeck_store::Store;
use limbeck_testkit::{ModelBehaviour, ModelEndpoint, World, python_request, request, value_of};
use limbeck_upstream::http::{LocalSecrets, SecretReference};
use limbeck_upstream::models::{ProviderKind, ProviderSpec};
use limbeck_upstream::{
    CallContext, CallObserver, ClientCapabilities, DeclinedError, ProgressUpdate, ServerRequest,
};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

const KEY: &str = "k3y-of-the-provider";

fn provider(endpoint: &ModelEndpoint) -> ProviderSpec {
    let url = format!("{}/v1", endpoint.url());
    let kind = ProviderKind::OpenAiCompatible;
    let mut spec = ProviderSpec::new(kind, Some(&url), Some("small")).unwrap();
    spec.key = Some(SecretReference::parse("env:KEY").unwrap().unwrap());
    spec.secrets = Arc::new(LocalSecrets::new(vec![("KEY".into(), KEY.into())]));
    spec
}

async fn gateway(endpoint: &ModelEndpoint) -> Gateway {
    gateway_with(endpoint, Policy::default()).await
}

async fn gateway_with(endpoint: &ModelEndpoint, policy: Policy) -> Gateway {
    gateway_on(endpoint, policy, Store::in_memory().unwrap()).await
}

async fn gateway_on(endpoint: &ModelEndpoint, policy: Policy, store: Store) -> Gateway {
    let models = ModelsConfig {
        provider: Some(provider(endpoint)),
        ..ModelsConfig::default()
    };
    World::new(worker())
        .models(models)
        .policy(policy)
        .store(store)
        .start()
        .await
}

async fn run(gateway: &Gateway, request: ExecuteRequest) -> Envelope {
    gateway.execute(request, CancellationToken::new()).await
}

fn with_quota(program: &str, rounds: u32, tokens: u64) -> ExecuteRequest {
    ExecuteRequest {
        models: ModelsRequest {
            rounds: Some(rounds),
            tokens: Some(tokens),
            ..ModelsRequest::default()
        },
        ..request(program)
    }
}

/// A client that answers questions to its model like this, and keeps them.
struct SamplingClient {
    asked: Mutex<Vec<Value>>,
    answer: Result<Value, DeclinedError>,
}

impl SamplingClient {
    fn answering(answer: Result<Value, DeclinedError>) -> Arc<Self> {
        Arc::new(Self {
            asked: Mutex::default(),
            answer,
        })
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

impl CallObserver for SamplingClient {
    fn progress(&self, _: ProgressUpdate) {}

    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            sampling: true,
            ..ClientCapabilities::NONE
        }
    }

    fn request(&self, asked: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
        let params = serde_json::from_str(asked.params.get()).unwrap();
        self.asked.lock().unwrap().push(params);
        let answer = self.answer.clone();
        Box::pin(async move { answer.map(|answer| to_raw_value(&answer).unwrap()) })
    }
}

async fn run_for(gateway: &Gateway, client: &Arc<SamplingClient>, program: &str) -> Envelope {
    let observer: Arc<dyn CallObserver> = client.clone();
    let context = CallContext::new(CancellationToken::new()).with_observer(Some(observer));
    gateway.execute(request(program), context).await
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_both_languages_are_answered_and_replayed_without_the_provider() {
    let endpoint = ModelEndpoint::start(ModelBehaviour::Streams);
    let gateway = gateway(&endpoint).await;
    for request in [
        request(
            "return [await llm.ask('hi', { systemPrompt: 'Be terse', maxTokens: 50 }), await llm.think([{ role: 'user', content: 'du' }]), budget.llm.rounds]",
        ),
        python_request(
            "return [await llm.ask('hi', 'Be terse', 50), await llm.think([{'role': 'user', 'content': 'du'}]), budget.llm.rounds]",
        ),
    ] {
        let before = endpoint.requests().len();
        let live = run(&gateway, request).await;
        assert_eq!(value_of(&live), json!(["HI", "DU", 8]), "{live:?}");
        let requests = endpoint.requests().split_off(before);
        assert_eq!(requests.len(), 2);
        assert_eq!(
            requests[0].header("authorization"),
            Some(&*format!("Bearer {KEY}"))
        );
        assert_eq!(requests[0].body["max_tokens"], 50);
        assert_eq!(
            requests[0].body["messages"],
            json!([{"role": "system", "content": "Be terse"}, {"role": "user", "content": "hi"}])
        );
        let report = gateway.replay(live.execution_id.as_str()).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!(value_of(&report.envelope), value_of(&live));
        assert_eq!(
            endpoint.requests().len(),
            before + 2,
            "a replay asks no model"
        );
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_at_the_same_time_never_exceed_the_quota_together() {
    let endpoint = ModelEndpoint::start(ModelBehaviour::Streams);
    let gateway = gateway(&endpoint).await;
    let program = "const all = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => llm.ask(`q${i}`)));\n\
        return [all.filter((it) => it.status === 'fulfilled').length, all.find((it) => it.status === 'rejected').reason.code, budget.llm]";
    let envelope = run(&gateway, with_quota(program, 3, 10_000)).await;
    // Seven tokens of the prompt and five of the answer, as the provider counted.
    let expected = json!([3, "limit_exceeded", {"rounds": 0, "tokens": 10_000 - 3 * 12}]);
    assert_eq!(value_of(&envelope), expected);
    assert_eq!(endpoint.requests().len(), 3);

    // Of tokens as well: an answer gets what is left, and a prompt that has more than that is not sent.
    let program = "const answer = await llm.ask('hi', { maxTokens: 500 });\n\
        try { await llm.ask('x'.repeat(1000)) } catch (error) { return [answer, error.code] }";
    let envelope = run(&gateway, with_quota(program, 10, 100)).await;
    assert_eq!(value_of(&envelope), json!(["HI", "limit_exceeded"]));
    assert!(envelope.warnings[0].contains("limited to"), "{envelope:?}");
    let requests = endpoint.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[3].body["max_tokens"].as_u64().unwrap() < 100);

    // A provider that lies about its tokens uses the quota up and does no more.
    endpoint.set_behaviour(ModelBehaviour::Overcounts);
    let program =
        "await llm.ask('a'); try { await llm.ask('b') } catch (error) { return error.code }";
    let envelope = run(&gateway, request(program)).await;
    assert_eq!(value_of(&envelope), json!("limit_exceeded"), "{envelope:?}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_is_asked_first_and_the_provider_only_where_the_client_cannot() {
    let endpoint = ModelEndpoint::start(ModelBehaviour::Streams);
    let gateway = gateway(&endpoint).await;
    let program = "const said = []; for (const q of ['a', 'b']) { try { said.push(await llm.ask(q, { systemPrompt: 's' })) } catch (error) { said.push(error.code) } } return said";
    let answer = json!({"role": "assistant", "content": {"type": "text", "text": "from the client"}, "model": "theirs"});
    let client = SamplingClient::answering(Ok(answer));
    let envelope = run_for(&gateway, &client, program).await;
    assert_eq!(
        value_of(&envelope),
        json!(["from the client", "from the client"])
    );
    let asked = client.asked();
    assert_eq!(
        asked[0]["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": "a"}}])
    );
    assert_eq!(asked[0]["systemPrompt"], "s");
    assert_eq!(
        (&asked[0]["includeContext"], &asked[0]["maxTokens"]),
        (&json!("none"), &json!(1_000))
    );
    assert_eq!(endpoint.requests().len(), 0);

    // A person who refused is the end of it.
    let refusing = SamplingClient::answering(Err(DeclinedError::new("the user said no")));
    let envelope = run_for(&gateway, &refusing, program).await;
    assert_eq!(value_of(&envelope), json!(["denied", "denied"]));
    assert_eq!(endpoint.requests().len(), 0);

    // One that does not know the request is not asked again.
    let unable = SamplingClient::answering(Err(DeclinedError::unsupported("method not found")));
    let envelope = run_for(&gateway, &unable, program).await;
    assert_eq!(value_of(&envelope), json!(["A", "B"]));
    assert_eq!((unable.asked().len(), endpoint.requests().len()), (1, 2));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_anyone_to_answer_the_error_names_both_ways() {
    let gateway = World::new(worker()).start().await;
    for request in [
        request("await llm.ask('x')"),
        python_request("await llm.ask('x')"),
    ] {
        let envelope = run(&gateway, request).await;
        let error = envelope.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Exception);
        assert!(
            error.message.contains("sampling is not enabled"),
            "{error:?}"
        );
        let hint = error.hint.unwrap();
        assert!(
            hint.contains("offers sampling") && hint.contains("[llm]"),
            "{hint}"
        );
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_slow_or_cut_provider_is_an_error_of_the_call_and_shows_no_key() {
    let endpoint = ModelEndpoint::start(ModelBehaviour::Fails(429));
    let store = Store::in_memory().unwrap();
    let gateway = gateway_on(&endpoint, Policy::default(), store.clone()).await;
    let program = "try { return await llm.ask('hi') } catch (error) { return [error.code, error.retryable, error.message] }";
    for (behaviour, code, retryable) in [
        (ModelBehaviour::Fails(429), "upstream_error", true),
        (ModelBehaviour::Fails(401), "upstream_error", false),
        (ModelBehaviour::Fails(302), "upstream_error", false),
        (ModelBehaviour::Cuts, "connection_lost", true),
    ] {
        endpoint.set_behaviour(behaviour.clone());
        let envelope = run(&gateway, request(program)).await;
        let value = value_of(&envelope);
        assert_eq!(
            (&value[0], &value[1]),
            (&json!(code), &json!(retryable)),
            "{behaviour:?} {value}"
        );
        assert!(!value.to_string().contains(KEY), "{value}");
        let journal = store.journal(&envelope.execution_id).await.unwrap();
        assert!(!format!("{journal:?}").contains(KEY));
    }
    // A program that is cancelled leaves the provider at once.
    endpoint.set_behaviour(ModelBehaviour::Hangs);
    let before = endpoint.requests().len();
    let cancel = CancellationToken::new();
    let arrived = {
        let (endpoint, cancel) = (endpoint.clone(), cancel.clone());
        tokio::task::spawn_blocking(move || {
            endpoint.await_requests(before + 1);
            cancel.cancel();
        })
    };
    let cancelled = gateway.execute(request("await llm.ask('hi')"), cancel);
    let cancelled = tokio::time::timeout(Duration::from_secs(30), cancelled)
        .await
        .unwrap();
    arrived.await.unwrap();
    assert_eq!(cancelled.status, ExecutionStatus::Cancelled);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_gives_a_value_after_at_most_one_correction() {
    let says = |texts: &[&str]| {
        ModelBehaviour::Says(texts.iter().map(|text| (*text).to_owned()).collect())
    };
    let program = "const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };\n\
        try { return [await llm.ask('how many?', { schema }), budget.llm.rounds] } catch (error) { return [error.code, budget.llm.rounds] }";
    for (texts, expected, requests) in [
        (&["{\"n\": 3}"][..], json!([{"n": 3}, 9]), 1),
        (
            &["three", "```json\n{\"n\": 3}\n```"][..],
            json!([{"n": 3}, 8]),
            2,
        ),
        (
            &["{\"n\": \"3\"}", "{}"][..],
            json!(["upstream_error", 10]),
            2,
        ),
    ] {
        let endpoint = ModelEndpoint::start(says(texts));
        let gateway = gateway(&endpoint).await;
        let envelope = run(&gateway, request(program)).await;
        assert_eq!(value_of(&envelope), expected);
        let asked = endpoint.requests();
        assert_eq!(asked.len(), requests);
        assert!(
            asked[0].prompt().contains("\"required\":[\"n\"]"),
            "{}",
            asked[0].prompt()
        );
        if let Some(again) = asked.get(1) {
            assert!(
                again.prompt().contains("does not fit"),
                "{}",
                again.prompt()
            );
        }
        gateway.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_and_scopes_are_about_models_too() {
    let endpoint = ModelEndpoint::start(ModelBehaviour::Streams);
    let rule = Rule {
        id: "no-models".to_owned(),
        effect: Effect::Deny,
        tools: Scope::parse(["llm.think"]).unwrap(),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: None,
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: "config.toml:1".to_owned(),
    };
    let policy = Policy {
        rules: RuleSet::new(vec![rule], &[], Preset::Balanced).unwrap(),
        ..Policy::default()
    };
    let gateway = gateway_with(&endpoint, policy).await;
    let program = "const said = []; for (const ask of [() => llm.ask('a'), () => llm.think([{ role: 'user', content: 'b' }])]) { try { said.push(await ask()) } catch (error) { said.push(error.code) } } return said";
    let envelope = run(&gateway, request(program)).await;
    // No person is asked about a question to a model, unless a rule says so.
    assert_eq!(value_of(&envelope), json!(["A", "denied"]));
    let narrow = |pattern: &str| ExecuteRequest {
        scope: Scope::parse([pattern]).unwrap(),
        ..request(program)
    };
    assert_eq!(
        value_of(&run(&gateway, narrow("files.*")).await),
        json!(["denied", "denied"])
    );
    assert_eq!(
        value_of(&run(&gateway, narrow("llm.*")).await),
        json!(["A", "denied"])
    );
    let off = ExecuteRequest {
        models: ModelsRequest {
            is_off: true,
            ..ModelsRequest::default()
        },
        ..request(program)
    };
    assert_eq!(
        value_of(&run(&gateway, off).await),
        json!(["unsupported", "unsupported"])
    );
    assert_eq!(endpoint.requests().len(), 2);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_has_question_and_answer_and_the_answer_has_what_it_cost() {
    let endpoint = ModelEndpoint::start(ModelBehaviour::Answers);
    let store = Store::in_memory().unwrap();
    let gateway = gateway_on(&endpoint, Policy::default(), store.clone()).await;
    let shown = gateway
        .answer(request("return llm.ask('hi')"), CancellationToken::new())
        .await;
    assert_eq!(value_of(&shown.envelope), json!("HI"));
    let calls = shown.model_calls;
    assert_eq!(
        (
            calls.rounds,
            calls.tokens,
            calls.rounds_left,
            calls.tokens_left
        ),
        (1, 12, 9, 9_988)
    );
    assert_eq!(
        (&*calls.calls[0].model, &*calls.calls[0].text),
        ("small", "HI")
    );
    let journal = store.journal(&shown.envelope.execution_id).await.unwrap();
    let sent = journal.iter().any(|entry| {
        matches!(entry, JournalEntry::Call { tool: Some(tool), sent: true, call, .. }
            if tool.to_string() == "llm.ask" && call.body.contains("\"hi\""))
    });
    assert!(sent, "{journal:?}");
    gateway.shutdown().await;
}
