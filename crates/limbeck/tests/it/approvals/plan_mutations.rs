//! No call leaves that the accepted lines of a plan do not show, for any program (governance 48).
//!
//! Programs are made of calls in plain and in misleading forms, in both languages, and mutated: lines are repeated, moved and removed,
//! and words replaced. Each runs where every plan is accepted and every other question ends it. What the server received is
//! compared with the lines, by a comparison of its own.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use limbeck_captures::values::Rng;
use limbeck_domain::{Approval, ApprovalChannel, ApprovalPlan, Language, PlanSite};
use limbeck_gateway::{Decider, DecisionRequest, ExecuteRequest, Gateway};
use limbeck_policy::Policy;
use limbeck_policy::rules::{Preset, RuleSet};
use limbeck_testkit::{FakeServer, World, python_request, request};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

/// Programs of each language.
const PROGRAMS: u64 = 14;
/// Lines of a program before it is mutated.
const LINES: usize = 4;
/// Mutations of a program.
const MUTATIONS: usize = 3;

/// Each is one line; `#` is its number in the program.
const TYPESCRIPT: &[&str] = &[
    "await tools.mail.send({ to: 'anna', text: 'hello' });",
    "const a# = { to: 'anna' }; a#.to = 'mallory'; await tools.mail.send(a#);",
    "const b# = { to: 'anna' } as any; b#.bcc = 'mallory'; await tools.mail.send(b#);",
    "for (const n of [1, 2]) await tools.mail.send({ to: 'anna', n });",
    "const c# = [1]; c#.push(2, 3); for (const n of c#) await tools.mail.send({ to: 'anna', n });",
    "const d# = (to: string) => tools.mail.send({ to }); await d#('anna'); await d#('mallory');",
    "await tools.mail['se' + 'nd']({ to: 'mallory' });",
    "const e# = tools.mail; await e#.drop({ to: 'anna' });",
    "await tools.mail.send({ to: { toJSON: () => 'mallory' } as any });",
    "await tools.mail.send({ to: 'anna', ...JSON.parse('{\"to\": \"mallory\"}') });",
    "let f# = 'anna'; f# = 'mallory'; await tools.mail.send({ to: f# });",
    "await tools.mail.send({ get to() { return 'mallory'; } });",
    "await Promise.all([0, 1, 2].map(n => tools.mail.send({ to: 'anna', n })));",
    "let g# = 0; while (g# < 30) { g#++; await tools.mail.send({ to: 'anna', g: g# }); }",
    "(Object.prototype as any).bcc = 'mallory'; await tools.mail.send({ to: 'anna' });",
    "String.prototype.toString = () => 'mallory'; await tools.mail.send({ to: `${'anna'}` });",
];

const PYTHON: &[&str] = &[
    "await tools.mail.send({'to': 'anna', 'text': 'hello'})",
    "a# = {'to': 'anna'}; a#['to'] = 'mallory'; await tools.mail.send(a#)",
    "b# = {'to': 'anna'}; b#['bcc'] = 'mallory'; await tools.mail.send(b#)",
    "for n in [1, 2]: await tools.mail.send({'to': 'anna', 'n': n})",
    "c# = [1]; c#.extend([2, 3]); d# = [await tools.mail.send({'to': 'anna', 'n': n}) for n in c#]",
    "e# = lambda to: tools.mail.send({'to': to}); await e#('anna'); await e#('mallory')",
    "await getattr(tools.mail, 'se' + 'nd')({'to': 'mallory'})",
    "f# = tools.mail; await f#.drop({'to': 'anna'})",
    "await tools.mail.send({'to': 'anna', **{'to': 'mallory'}})",
    "g# = 'anna'; g# = 'mallory'; await tools.mail.send({'to': g#})",
    "for n in range(30): await tools.mail.send({'to': 'anna', 'n': n})",
    "for n in list(map(int, '1' * 30)): await tools.mail.send({'to': 'anna'})",
    "h# = type('T', (dict,), {'items': lambda self: [('to', 'mallory')]})({'to': 'anna'}); await tools.mail.send(h#)",
];

const WORDS: &[&str] = &[
    "anna", "mallory", "send", "drop", "to", "bcc", "text", "1", "2", "30",
];

fn program(language: Language, rng: &mut Rng) -> String {
    let forms = match language {
        Language::Typescript => TYPESCRIPT,
        Language::Python => PYTHON,
    };
    let number = |(at, line): (usize, &&str)| line.replace('#', &at.to_string());
    let mut lines: Vec<&str> = (0..LINES).map(|_| *rng.pick(forms)).collect();
    for _ in 0..MUTATIONS {
        let (at, other) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(3) {
            0 => lines.swap(at, other),
            1 => lines.insert(other, lines[at]),
            _ if lines.len() > 1 => drop(lines.remove(at)),
            _ => {}
        }
    }
    let mut lines: Vec<String> = lines.iter().enumerate().map(number).collect();
    // A word of one line is another word.
    let (at, from, into) = (rng.below(lines.len()), rng.pick(WORDS), rng.pick(WORDS));
    lines[at] = lines[at].replacen(from, into, 1);
    lines.join("\n")
}

/// Calls that the server received, in order.
type Received = Arc<Mutex<Vec<(String, Map<String, Value>)>>>;

async fn gateway(received: &Received) -> Gateway {
    let record = |tool: &str| {
        let (tool, received) = (tool.to_owned(), Arc::clone(received));
        move |arguments: Value| {
            let arguments = arguments.as_object().unwrap().clone();
            received.lock().unwrap().push((tool.clone(), arguments));
            json!({})
        }
    };
    let mail = FakeServer::new("mail");
    let mail = mail
        .write("send", record("send"))
        .write("drop", record("drop"));
    let policy = Policy {
        rules: RuleSet::new(Vec::new(), &[], Preset::Balanced).unwrap(),
        ..Policy::default()
    };
    let world = World::new(worker()).server(&mail.share());
    world.policy(policy).start().await
}

/// Runs a program until it ends or asks about a call. Returns the plan that was accepted, if one was asked about, and whether a
/// call was asked about.
async fn run(gateway: &Gateway, request: ExecuteRequest) -> (Option<ApprovalPlan>, bool) {
    let cancel = CancellationToken::new();
    let running = gateway.execute(request, cancel.clone());
    let mut running = std::pin::pin!(running);
    let (mut plan, mut is_asked) = (None, false);
    loop {
        tokio::select! {
            biased;
            _ = &mut running => return (plan, is_asked),
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
        for question in gateway.pending_approvals(None, None, true).await.unwrap() {
            match question.plan() {
                Some(shown) => {
                    accept(gateway, &question).await;
                    plan = Some(shown);
                }
                None => {
                    is_asked = true;
                    cancel.cancel();
                }
            }
        }
    }
}

async fn accept(gateway: &Gateway, question: &Approval) {
    let decision = DecisionRequest {
        approval: question.id.clone(),
        approve: true,
        decider: Decider {
            who: vec!["user:test".to_owned()],
            principal: "test".to_owned(),
            channel: ApprovalChannel::Cli,
        },
        reason: None,
        edited: None,
        lines: None,
        stop: false,
        remember: None,
    };
    gateway.decide(decision).await.unwrap();
}

/// Whether a call is what the line shows.
fn is_shown(line: &PlanSite, tool: &str, arguments: &Map<String, Value>) -> bool {
    let is_constant = |name: &String| line.constants.iter().any(|constant| constant.name == *name);
    let mut constants = line.constants.iter();
    *line.tool.tool == *tool
        && constants.all(|constant| {
            let value: Value = serde_json::from_str(&constant.json).unwrap();
            arguments.get(&constant.name) == Some(&value)
        })
        && (!line.complete
            || arguments
                .keys()
                .all(|name| is_constant(name) || line.open.contains(name)))
}

async fn no_call_leaves_the_lines(language: Language) {
    let received = Received::default();
    let gateway = gateway(&received).await;
    let (mut sent, mut asked, mut trace) = (0, 0, String::new());
    for seed in 0..PROGRAMS {
        let program = program(language, &mut Rng::new(seed));
        let request = match language {
            Language::Typescript => request(&program),
            Language::Python => python_request(&program),
        };
        let (plan, is_asked) = run(&gateway, request).await;
        let calls = std::mem::take(&mut *received.lock().unwrap());
        let _ = writeln!(trace, "{seed}: {} sent, asked {is_asked}", calls.len());
        asked += usize::from(is_asked);
        sent += calls.len();
        let mut lines = plan.map_or_else(Vec::new, |plan| plan.lines);
        // The line that says the most about a call is the one it is counted on.
        lines.sort_by_key(|line| std::cmp::Reverse(line.constants.len()));
        let mut left: Vec<u32> = lines.iter().map(|line| line.count.most()).collect();
        for (tool, arguments) in &calls {
            let mut numbered = lines.iter().enumerate();
            let shows =
                |at: usize, line: &PlanSite| left[at] > 0 && is_shown(line, tool, arguments);
            let line = numbered.find(|(at, line)| shows(*at, line));
            let Some((at, _)) = line else {
                panic!("seed {seed}: {tool} {arguments:?} was not shown:\n{program}\n{lines:?}")
            };
            left[at] -= 1;
        }
    }
    // The controls: calls were sent, and others were not.
    assert!(sent > 20 && asked > 2, "{trace}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_of_a_mutated_typescript_program_leaves_outside_of_the_shown_lines() {
    no_call_leaves_the_lines(Language::Typescript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_of_a_mutated_python_program_leaves_outside_of_the_shown_lines() {
    no_call_leaves_the_lines(Language::Python).await;
}
