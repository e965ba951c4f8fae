//! What servers may ask of the client's model: `sampling/createMessage` is counted before the client is asked.
//!
//! The tokens that a request may take are counted first; what its answer did not take is given back.

use std::sync::Arc;

use futures::future::BoxFuture;
use limbeck_domain::ExecutionId;
use limbeck_policy::Requester;
use limbeck_policy::budget::{Budget, Unit, UnitKind};
use limbeck_store::{Charge, Counted, Store};
use limbeck_upstream::{
    CallObserver, ClientCapabilities, DeclinedError, ProgressUpdate, ServerRequest,
    ServerRequestKind,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{BudgetedCall, charge_of, texts};
use crate::clock::now_us;
use crate::policy_in_force::PolicyVersion;

/// Bytes of a token, estimated: the vocabulary of the client's model is not known.
const TOKEN_BYTES: u64 = 4;

/// Observer of one call that lets its server ask the model as often as the budgets say.
pub(crate) struct SamplingGate {
    caller: Arc<dyn CallObserver>,
    store: Store,
    execution: Option<ExecutionId>,
    budgets: Vec<(Arc<Budget>, String)>,
}

impl SamplingGate {
    /// `caller` behind the budgets about sampling during this call; `caller` itself without such budgets.
    pub(crate) fn before(
        caller: Arc<dyn CallObserver>,
        by: &PolicyVersion,
        call: BudgetedCall<'_>,
        store: &Store,
        execution: Option<&ExecutionId>,
    ) -> Arc<dyn CallObserver> {
        let requester = Requester::of_principal(call.principal);
        let budgets = by.budgets_about(call.tool, call.class, &requester);
        let of_sampling =
            |budget: &Arc<Budget>| budget.limits_of(UnitKind::Sampling).next().is_some();
        let budgets: Vec<_> = budgets
            .into_iter()
            .filter(of_sampling)
            .map(|budget| {
                let subject = budget.subject(call.principal, Some((call.tool, call.class)));
                (budget, subject)
            })
            .collect();
        if budgets.is_empty() {
            return caller;
        }
        Arc::new(Self {
            caller,
            store: store.clone(),
            execution: execution.cloned(),
            budgets,
        })
    }

    /// The charges of a request for `tokens`, each with its budget and unit.
    fn charges(&self, tokens: u64) -> Vec<(&Budget, Unit, Charge)> {
        let now_us = now_us();
        let of_budget = |(budget, subject): &'_ (Arc<Budget>, String)| -> Vec<(Unit, Charge)> {
            let limits = budget.limits_of(UnitKind::Sampling);
            let charge = |(period, unit, limit)| {
                let amount = match unit {
                    Unit::SamplingTokens => tokens,
                    _ => 1,
                };
                let charge = charge_of(budget, subject, (period, unit), amount, limit, now_us);
                (unit, charge)
            };
            limits.map(charge).collect()
        };
        let mut charges = Vec::new();
        for of in &self.budgets {
            for (unit, charge) in of_budget(of) {
                charges.push((&*of.0, unit, charge));
            }
        }
        charges
    }

    async fn sample(&self, request: ServerRequest) -> Result<Box<RawValue>, DeclinedError> {
        let asked = tokens_asked(&request.params);
        let charges = self.charges(asked);
        let counted = charges.iter().map(|(_, _, charge)| charge.clone());
        let counted = self
            .store
            .charge(self.execution.as_ref(), counted.collect());
        match counted.await {
            Ok(Counted::Now) => {}
            Ok(Counted::Over(over)) => {
                let over = charges.get(over.at).map(|(budget, unit, charge)| {
                    let text = texts::used_up(budget, *unit, charge, over.used);
                    let now_us = now_us();
                    let mut periods = budget.limits_of(UnitKind::Sampling);
                    let end = periods.find_map(|(period, _, _)| period.end_us(now_us));
                    match end {
                        Some(end) => {
                            format!("{text}; there is room again {}", texts::when(end, now_us))
                        }
                        None => text,
                    }
                });
                return Err(DeclinedError::new(over.unwrap_or_default()));
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a request for sampling could not be counted"
                );
                let reason = "the gateway could not count this request, so it was not passed on";
                return Err(DeclinedError::new(reason));
            }
        }
        let answer = self.caller.request(request).await;
        let taken = answer.as_ref().map_or(0, |answer| {
            (answer.get().len() as u64).div_ceil(TOKEN_BYTES).min(asked)
        });
        let unused = asked - taken;
        let unused = charges
            .into_iter()
            .filter(|(_, unit, _)| *unit == Unit::SamplingTokens)
            .map(|(_, _, charge)| Charge {
                amount: unused,
                ..charge
            });
        let given_back = self
            .store
            .uncharge_later(self.execution.as_ref(), unused.collect());
        if let Err(error) = given_back.await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "unused tokens of sampling could not be given back"
            );
        }
        answer
    }
}

/// Tokens that a request wants at most. One that does not say is counted with none.
fn tokens_asked(params: &RawValue) -> u64 {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "maxTokens")]
        max_tokens: Option<u64>,
    }
    let params = serde_json::from_str::<Params>(params.get());
    params.ok().and_then(|it| it.max_tokens).unwrap_or(0)
}

impl CallObserver for SamplingGate {
    fn progress(&self, progress: ProgressUpdate) {
        self.caller.progress(progress);
    }

    fn capabilities(&self) -> ClientCapabilities {
        self.caller.capabilities()
    }

    fn request(&self, ask: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
        match ask.kind {
            ServerRequestKind::Sampling => Box::pin(self.sample(ask)),
            ServerRequestKind::ElicitationForm
            | ServerRequestKind::ElicitationUrl
            | ServerRequestKind::Roots => self.caller.request(ask),
        }
    }

    fn log_level(&self) -> Option<&'static str> {
        self.caller.log_level()
    }

    fn log(&self, params: &RawValue) {
        self.caller.log(params);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use limbeck_domain::{EffectClass, ToolId};
    use limbeck_policy::budget::{Bound, Budgets, Dimension, OnExceed, Period};
    use limbeck_policy::rules::Layer;
    use limbeck_policy::{Policy, Scope};
    use serde_json::json;

    use super::*;
    use crate::policy_in_force::PolicyInForce;

    /// A client that answers with a text, and notes which methods it was asked.
    struct Model {
        asked: Mutex<Vec<&'static str>>,
        text: &'static str,
    }

    impl CallObserver for Model {
        fn progress(&self, _: ProgressUpdate) {}

        fn capabilities(&self) -> ClientCapabilities {
            ClientCapabilities::ALL
        }

        fn request(
            &self,
            ask: ServerRequest,
        ) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
            self.asked.lock().unwrap().push(ask.kind.method());
            let answer = RawValue::from_string(json!(self.text).to_string()).unwrap();
            Box::pin(async move { Ok(answer) })
        }
    }

    fn gate(model: &Arc<Model>, store: &Store, limits: Vec<(Unit, u64)>) -> Arc<dyn CallObserver> {
        let budget = Budget {
            id: "sampling".to_owned(),
            tools: Scope::parse(["mail"]).unwrap(),
            except: None,
            classes: None,
            who: None,
            each: vec![Dimension::Server],
            bound: Bound::Total {
                per: Period::Day,
                limits,
            },
            on_exceed: OnExceed::Deny,
            reason: None,
            layer: Layer::User,
            counter: "sampling".to_owned(),
            origin: "limbeck.toml:1".to_owned(),
        };
        let policy = PolicyInForce::new(Policy {
            budgets: Budgets::new(vec![budget]).unwrap(),
            ..Policy::default()
        });
        let call = BudgetedCall {
            principal: "local",
            tool: &ToolId::new("mail", "send"),
            class: EffectClass::Write,
            bytes_sent: 0,
        };
        let caller: Arc<dyn CallObserver> = Arc::clone(model) as _;
        SamplingGate::before(caller, &policy.newest(), call, store, None)
    }

    async fn ask(
        gate: &Arc<dyn CallObserver>,
        kind: ServerRequestKind,
        max_tokens: u64,
    ) -> Result<(), String> {
        let params = json!({ "messages": [], "maxTokens": max_tokens });
        let request = ServerRequest {
            server: "mail".into(),
            kind,
            key: None,
            together: 1,
            execution: None,
            params: RawValue::from_string(params.to_string()).unwrap(),
        };
        let answer = gate.request(request).await;
        answer.map(drop).map_err(|declined| declined.reason)
    }

    #[tokio::test]
    async fn sampling_above_its_quota_is_not_passed_on_and_the_server_receives_the_reason() {
        use ServerRequestKind::{Roots, Sampling};
        let model = Arc::new(Model {
            asked: Mutex::default(),
            text: "a text of twenty-four ch",
        });
        let asked = || model.asked.lock().unwrap().len();
        let store = Store::in_memory().unwrap();
        let requests = gate(&model, &store, vec![(Unit::Sampling, 2)]);
        for expected in [Ok(()), Ok(())] {
            assert_eq!(ask(&requests, Sampling, 9).await, expected);
        }
        let reason = ask(&requests, Sampling, 9).await.unwrap_err();
        let used_up =
            "the budget `sampling` (2 sampling requests a day) is used up for server `mail`";
        assert!(reason.starts_with(used_up), "{reason}");
        assert!(reason.contains("room again at"), "{reason}");
        assert_eq!(asked(), 2);
        // The control: what is no sampling is passed on.
        ask(&requests, Roots, 0).await.unwrap();
        assert_eq!(asked(), 3);

        // Tokens that an answer did not take are given back: seven of 26 bytes.
        let store = Store::in_memory().unwrap();
        let tokens = gate(&model, &store, vec![(Unit::SamplingTokens, 100)]);
        ask(&tokens, Sampling, 90).await.unwrap();
        ask(&tokens, Sampling, 90).await.unwrap();
        let reason = ask(&tokens, Sampling, 90).await.unwrap_err();
        assert!(reason.contains("86 left"), "{reason}");
        ask(&tokens, Sampling, 86).await.unwrap();
    }
}
