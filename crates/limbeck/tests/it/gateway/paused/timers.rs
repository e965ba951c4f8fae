//! Timers of programs that wait for people.

use std::time::Duration;

use limbeck_domain::{ErrorKind, ExecutionId, ExecutionStatus, Language};
use limbeck_store::Store;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{Paused, value};

/// Programs that wait an hour for a person, and then go on without.
const PATIENT: [(Language, &str); 2] = [
    (
        Language::Typescript,
        "const hour = new Promise((done) => setTimeout(() => done(\"timer\"), 3_600_000));
         const first = await Promise.race([tools.t.send({ n: 1 }).then((r: any) => r.sent), hour]);
         return [first, (await tools.t.note({ n: 2 })).noted];",
    ),
    (
        Language::Python,
        "import asyncio
try:
    first = (await asyncio.wait_for(tools.t.send(n=1), 3600))[\"sent\"]
except asyncio.TimeoutError:
    first = \"timer\"
return [first, (await tools.t.note(n=2))[\"noted\"]]",
    ),
];
const PATIENCE: Duration = Duration::from_secs(60);

impl Paused {
    /// Moves everything of an execution more than an hour into the past.
    fn an_hour_later(&self, id: &ExecutionId) {
        let of = format!("(SELECT row FROM execution WHERE id = '{id}')");
        let hour_us = 3_601_000_000_u64;
        self.change(&format!(
            "UPDATE start SET start = json_set(start, '$.now_us', json_extract(start, '$.now_us') - {hour_us})
             WHERE execution = {of}"
        ));
        self.change(&format!(
            "UPDATE journal SET entry = json_set(entry, '$.delivered.now_us', json_extract(entry, '$.delivered.now_us') - {hour_us})
             WHERE execution = {of} AND substr(entry, 1, 13) = '{{\"delivered\":'"
        ));
        let changed = self.change(&format!(
            "UPDATE execution SET wake_us = wake_us - {hour_us} WHERE row = {of} AND wake_us IS NOT NULL"
        ));
        assert_eq!(changed, 1, "it has a timer");
    }

    async fn has_ended(&self, id: &ExecutionId) {
        let ended = async {
            while self.status(id).await != ExecutionStatus::Completed {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, ended).await.expect("it ends");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resume_wakes_a_program_whose_timer_is_due_though_no_person_has_decided() {
    for (language, program) in PATIENT {
        let world = Paused::start().await;
        let id = world.paused(language, program).await;
        // The control: before its time it stays paused.
        let early = world.resume(&id).await.unwrap();
        assert_eq!(early.status, ExecutionStatus::Paused, "{early:?}");
        world.an_hour_later(&id);
        let envelope = world.resume(&id).await.unwrap();
        assert_eq!(value(&envelope), json!(["timer", 2]));
        assert_eq!((world.sent(), world.server.calls().len()), (0, 1));
        assert!(world.questions(&id, true).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_serves_wakes_programs_on_time_and_leaves_interrupted_ones_alone() {
    let world = Paused::start().await;
    let (language, program) = PATIENT[0];
    let id = world.paused(language, program).await;
    world.an_hour_later(&id);
    let interrupted = interrupted(&world).await;
    world.gateway.keep_timers();
    world.has_ended(&id).await;
    let record = world.gateway.store().execution(id.as_str()).await;
    let envelope = record.unwrap().unwrap().envelope.unwrap();
    assert_eq!(value(&envelope), json!(["timer", 2]));
    // It would have been woken before the other, and writes nothing until a person resumes it.
    assert_eq!(world.status(&interrupted).await, ExecutionStatus::Paused);
    assert_eq!(world.server.calls(), ["note"]);
    let envelope = world.resume(&interrupted).await.unwrap();
    assert_eq!(value(&envelope), json!(3));
    assert_eq!(world.server.calls(), ["note", "note"]);
}

/// An execution of a program that writes without a question, whose gateway died before it wrote.
async fn interrupted(world: &Paused) -> ExecutionId {
    let program =
        "await tools.t.send({ n: 1 }).catch(() => 0); return (await tools.t.note({ n: 3 })).noted";
    let id = world.paused(Language::Typescript, program).await;
    let waiting = world.questions(&id, true).await;
    for approval in &waiting {
        world.decide(approval, false).await;
    }
    // Taken by a process that is gone now.
    let gone = Store::open(&world.state_file()).unwrap();
    gone.take(&id).await.unwrap();
    drop(gone);
    world.gateway.store().recover().await.unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_woken_a_hundred_times_and_then_ended() {
    let world = Paused::start().await;
    let program = "const calls = tools.t.send({ n: 1 }).then((r: any) => r.sent);
        for (;;) {
          const hour = new Promise((done) => setTimeout(() => done(\"timer\"), 3_600_000));
          const first = await Promise.race([calls, hour]);
          if (first !== \"timer\") return first;
        }";
    let id = world.paused(Language::Typescript, program).await;
    let wakes = |count: u32| {
        world.change(&format!(
            "UPDATE execution SET wakes = {count} WHERE id = '{id}'"
        ))
    };
    wakes(99);
    world.an_hour_later(&id);
    let woken = world.resume(&id).await.unwrap();
    assert_eq!(woken.status, ExecutionStatus::Paused, "{woken:?}");
    world.an_hour_later(&id);
    let ended = world.resume(&id).await.unwrap();
    let error = ended.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("woke it 100 times"), "{error:?}");
    assert_eq!(
        (world.sent(), world.status(&id).await),
        (0, ExecutionStatus::Failed)
    );
    assert!(world.questions(&id, true).await.is_empty());
}
