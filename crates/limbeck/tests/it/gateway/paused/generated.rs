//! Generated programs with calls that a person is asked about: decided while they run and after they were paused, they do the same.
//!
//! `LIMBECK_PROGRAMS` sets their number; 500 of them are those of a release.

use std::time::Duration;

use limbeck_domain::{Envelope, ExecutionStatus, Language};
use limbeck_gateway::OnAsk;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{Paused, asked_for, request_in};

/// Programs of each test run.
const PROGRAMS: u64 = 12;
/// Steps of one program.
const STEPS: u64 = 6;
const PATIENCE: Duration = Duration::from_secs(60);

/// A generator that needs no library: xorshift.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A program of a few steps: reads, writes, questions one after the other and beside each other, time and chance.
fn program(seed: u64) -> (Language, String) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let language = Language::ALL[(seed % 2) as usize];
    let steps: Vec<String> = (0..STEPS)
        .map(|at| step(language, &mut chance, at))
        .collect();
    let program = match language {
        Language::Typescript => format!(
            "const out: any[] = [];\nconst ask = async (n: number) => {{ try {{ return (await tools.t.send({{ n }})).sent }} \
             catch (e: any) {{ return e.code }} }};\n{}\nreturn out;",
            steps.join("\n")
        ),
        Language::Python => format!(
            "import asyncio, random\nout = []\nasync def ask(n):\n    try:\n        return (await tools.t.send(n=n))[\"sent\"]\n    \
             except ToolError as error:\n        return error.code\n{}\nreturn out",
            steps.join("\n")
        ),
    };
    (language, program)
}

fn step(language: Language, chance: &mut Chance, at: u64) -> String {
    let n = at * 10 + chance.below(9);
    let kind = chance.below(6);
    match (language, kind) {
        (Language::Typescript, 0) => format!("out.push((await tools.t.look({{ n: {n} }})).seen);"),
        (Language::Typescript, 1) => format!("out.push((await tools.t.note({{ n: {n} }})).noted);"),
        (Language::Typescript, 2) => format!("out.push(await ask({n}));"),
        (Language::Typescript, 3) => {
            format!("out.push(await Promise.all([ask({n}), ask({n} + 100)]));")
        }
        (Language::Typescript, 4) => "out.push(Math.random(), crypto.randomUUID());".to_owned(),
        (Language::Typescript, _) => format!(
            "out.push(await Promise.all([ask({n}), tools.t.look({{ n: {n} }}).then((r: any) => r.seen)]));"
        ),
        (Language::Python, 0) => format!("out.append((await tools.t.look(n={n}))[\"seen\"])"),
        (Language::Python, 1) => format!("out.append((await tools.t.note(n={n}))[\"noted\"])"),
        (Language::Python, 2) => format!("out.append(await ask({n}))"),
        (Language::Python, 3) => {
            format!("out.append(await asyncio.gather(ask({n}), ask({n} + 100)))")
        }
        (Language::Python, 4) => "out.append(len(str(random.random())) > 0)".to_owned(),
        (Language::Python, _) => {
            format!("out.append(await asyncio.gather(ask({n}), tools.t.look(n={n})))")
        }
    }
}

/// The end without what chance decides in each run.
fn shown(envelope: &Envelope) -> (ExecutionStatus, String) {
    let value = envelope.value.as_ref().map(|value| value.get().to_owned());
    let value: serde_json::Value =
        serde_json::from_str(&value.unwrap_or_default()).unwrap_or_default();
    let items = value.as_array().cloned().unwrap_or_default();
    let kept = items
        .iter()
        .filter(|item| !item.is_f64() && !item.is_string());
    (
        envelope.status,
        format!("{:?} {:?}", kept.collect::<Vec<_>>(), envelope.error),
    )
}

impl Paused {
    /// Runs a program that waits in its worker while it is decided.
    async fn hot(&self, language: Language, program: &str) -> Envelope {
        let mut request = request_in(language, program);
        request.on_ask = OnAsk::Wait;
        let gateway = self.gateway.clone();
        let mut running =
            tokio::spawn(async move { gateway.execute(request, CancellationToken::new()).await });
        let decided = async {
            loop {
                let waiting = self
                    .gateway
                    .pending_approvals(None, None, true)
                    .await
                    .unwrap();
                for approval in waiting {
                    self.decide(&approval.id, true).await;
                }
                tokio::select! {
                    envelope = &mut running => return envelope.unwrap(),
                    () = sleep(Duration::from_millis(1)) => {}
                }
            }
        };
        timeout(PATIENCE, decided).await.expect("it ends")
    }

    /// Runs a program that gives its worker up at every question; each attempt is of another worker.
    async fn cold(&self, language: Language, program: &str) -> Envelope {
        let mut request = request_in(language, program);
        request.on_ask = OnAsk::Pause;
        let mut envelope = self
            .gateway
            .execute(request, CancellationToken::new())
            .await;
        while envelope.status == ExecutionStatus::Paused {
            let id = envelope.execution_id.clone();
            self.approve_all(&id).await;
            envelope = self.resume(&id).await.unwrap();
        }
        envelope
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_programs_do_the_same_decided_while_they_run_and_after_they_were_paused() {
    let count = asked_for("LIMBECK_PROGRAMS");
    let count = count.map_or(PROGRAMS, |count| count.parse().unwrap());
    for seed in 1..=count {
        let world = Paused::start().await;
        let (language, program) = program(seed);
        let hot = world.hot(language, &program).await;
        let calls_of_hot = world.server.calls();
        let cold = world.cold(language, &program).await;
        assert_eq!(shown(&cold), shown(&hot), "seed {seed}:\n{program}");
        assert_eq!(
            hot.status,
            ExecutionStatus::Completed,
            "seed {seed}: {hot:?}\n{program}"
        );
        let mut calls = world.server.calls().split_off(calls_of_hot.len());
        let mut expected = calls_of_hot;
        calls.sort_unstable();
        expected.sort_unstable();
        assert_eq!(calls, expected, "seed {seed}:\n{program}");
        // What chance decided is the same in the journal's replay.
        let replayed = world
            .gateway
            .replay(cold.execution_id.as_str())
            .await
            .unwrap();
        assert_eq!(
            replayed.differences,
            Vec::<String>::new(),
            "seed {seed}:\n{program}"
        );
    }
}
