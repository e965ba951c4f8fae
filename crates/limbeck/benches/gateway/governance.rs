//! Time of a decision about a call, by the number of rules and classes, and of calls by their class.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use limbeck_domain::{CompactArguments, EffectClass, ServerName, ToolId};
use limbeck_policy::rules::{ArgumentPath, Condition, Effect, Layer, Preset, Rule, RuleSet};
use limbeck_policy::{Classes, Facts, Policy, Scope, ToolCall, decide_or_ask};
use limbeck_store::Store;
use limbeck_testkit::{FakeServer, World};
use serde_json::json;

use crate::report::{Report, percentile_90, sampled, shown};
use crate::{LIMBECK, runtime, timed};

/// Decisions of one sample: one alone is too short to measure.
const DECISIONS: u32 = 200;
/// Servers that the rules are about.
const SERVERS: usize = 50;

/// The time of calls by class, and of decisions with 1,000 and with 10,000 rules and as many classes.
pub(crate) fn governance(report: &mut Report) {
    classes(report);
    for (count, promise) in [
        (1_000, Duration::from_micros(20)),
        (10_000, Duration::from_micros(100)),
    ] {
        let policy = policy(count);
        let calls = calls(count);
        let facts = Facts {
            scope: &Scope::everything(),
            policy: &policy,
            who: &["user:local"],
            now_us: 0,
        };
        let mut outcomes = [0_u32; 2];
        let mut next = calls.iter().cycle();
        let samples = sampled(200, || {
            let batch: Vec<ToolCall> = next.by_ref().take(DECISIONS as usize).cloned().collect();
            let started = Instant::now();
            for call in batch {
                let decided = black_box(decide_or_ask(call, &facts));
                outcomes[usize::from(decided.is_ok())] += 1;
            }
            started.elapsed() / DECISIONS
        });
        assert!(outcomes.iter().all(|decided| *decided > 0), "{outcomes:?}");
        report.time(
            &format!("decision: {count} rules, {count} classes"),
            &samples,
            Some(promise),
            format!("p90 {}", shown(percentile_90(&samples))),
        );
    }
}

/// The time of calls by the class of their tool, with the journal on disk: what a tool of no class costs, whose calls are
/// recorded as writes, and what the operator gets back by saying that it only reads.
fn classes(report: &mut Report) {
    let trusted = || Classes::new(Vec::new(), HashSet::from([ServerName::from("t")]));
    for (class, policy) in [
        ("no class", Policy::default()),
        (
            "a read by the operator's word",
            Policy {
                classes: trusted().expect("no pattern"),
                ..Policy::default()
            },
        ),
    ] {
        let runtime = runtime();
        let dir = tempfile::tempdir().expect("a directory for the journal");
        let store = Store::open(&dir.path().join("state.db")).expect("a store on disk");
        let t = FakeServer::new("t")
            .read("get", |_| json!({"n": 1}))
            .share();
        let world = World::new(LIMBECK).server(&t).store(store.clone());
        let gateway = runtime.block_on(world.policy(policy).start());
        for (order, program) in [
            (
                "one after another",
                "for (let i = 0; i < 100; i++) await tools.t.get({ i }); return 1",
            ),
            (
                "at once",
                "await Promise.all(Array.from({ length: 100 }, (_, i) => tools.t.get({ i }))); return 1",
            ),
        ] {
            timed(&runtime, &gateway, program);
            let before = store.stats();
            let samples = sampled(9, || timed(&runtime, &gateway, program).0);
            let synced = (store.stats().synced - before.synced) as f64 / (9.0 * 100.0);
            report.time(
                &format!("class: 100 calls {order}, {class}"),
                &samples,
                None,
                format!("{synced:.2} syncs a call"),
            );
        }
        runtime.block_on(gateway.shutdown());
    }
}

/// Rules of a large company: of one tool, of a family of tools, and of all servers; one in three reads arguments.
fn policy(count: usize) -> Policy {
    let rules = (0..count).map(rule).collect();
    let classes = (0..count).map(|at| {
        let class = [EffectClass::Read, EffectClass::Write][at % 2];
        let pattern = format!("server{}.tool_{at}", at % SERVERS);
        (Scope::parse([pattern]).expect("a pattern"), class)
    });
    Policy {
        rules: RuleSet::new(rules, &[], Preset::Balanced).expect("the rules can be used"),
        classes: Classes::new(classes.collect(), HashSet::new()).expect("few classes"),
        ..Policy::default()
    }
}

fn rule(at: usize) -> Rule {
    let server = at % SERVERS;
    let tools = match at % 10 {
        0 => format!("*.tool_{at}_*"),
        1 | 2 => format!("server{server}.tool_{at}*"),
        _ => format!("server{server}.tool_{at}"),
    };
    let outside = json!({ "not_glob": "*@example.com" });
    let condition = (
        ArgumentPath::parse("to[*]").expect("a path"),
        Condition::from_value(&outside).expect("a condition"),
    );
    Rule {
        id: format!("rule-{at}"),
        effect: [Effect::Allow, Effect::Ask, Effect::Deny][at % 3],
        tools: Scope::parse([tools]).expect("a pattern"),
        except: None,
        classes: None,
        arguments: (at % 3 == 2).then_some(condition).into_iter().collect(),
        who: None,
        reason: None,
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: format!("limbeck.toml:{at}"),
    }
}

/// Calls of 1 KB, of tools with rules and of tools without.
fn calls(count: usize) -> Vec<ToolCall> {
    let arguments = json!({ "to": ["a@example.com", "b@x.org"], "text": "x".repeat(1000) });
    let (arguments, _) = CompactArguments::parse(&arguments.to_string()).expect("an object");
    let call = |at: usize| ToolCall {
        tool: ToolId::new(
            ServerName::new(format!("server{}", at % SERVERS)),
            format!("tool_{at}"),
        ),
        arguments: arguments.clone(),
        effect: EffectClass::Unknown,
    };
    // A step that shares no factor with the numbers above reaches every kind of rule.
    (0..997)
        .map(|step| call(step * 37 % (count + 100)))
        .collect()
}
