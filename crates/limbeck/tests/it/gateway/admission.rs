//! Admission of host calls: a program that asks for more than fits in memory gets its answers in turns, others are served
//! meanwhile, and what the gateway does for a program ends with the program.

use std::time::{Duration, Instant};

use limbeck_domain::{Envelope, ErrorKind, Language};
use limbeck_gateway::Gateway;
use limbeck_store::Store;
use limbeck_testkit::{World, python_request, request, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

/// Time after which a gateway counts as stopped for good.
const STOPPED: Duration = Duration::from_secs(120);
/// Time beyond its limit after which a program has ended, for anything that it may wait for, compared with one that waits for a timer.
const SOON: Duration = Duration::from_millis(250);
/// Tries of which the fastest counts: a busy machine slows some of them, and what the gateway waits for all of them.
const TRIES: usize = 8;

/// A gateway whose journal is a file, as that of `serve`.
async fn gateway(directory: &tempfile::TempDir) -> Gateway {
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    World::new(worker()).store(store).start().await
}

async fn run_as(gateway: &Gateway, principal: &str, program: &str, wall_ms: u64) -> Envelope {
    let mut request = request(program);
    principal.clone_into(&mut request.principal);
    request.timeout_ms = Some(wall_ms);
    gateway.execute(request, CancellationToken::new()).await
}

/// Runs a program that asks for much at once, and one of another principal beside it.
async fn is_answered(language: Language, program: &str, expected: u64) {
    let directory = tempfile::tempdir().unwrap();
    let gateway = gateway(&directory).await;
    let mut greedy = match language {
        Language::Typescript => request(program),
        Language::Python => python_request(program),
    };
    greedy.timeout_ms = Some(60_000);
    let both = async {
        tokio::join!(
            gateway.execute(greedy, CancellationToken::new()),
            run_as(
                &gateway,
                "bob",
                "await store.set('a', 1); return await store.get('a')",
                60_000
            ),
        )
    };
    let (greedy, other) = tokio::time::timeout(STOPPED, both)
        .await
        .expect("the gateway answers");
    assert_eq!(value_of(&greedy), json!(expected));
    assert_eq!(value_of(&other), json!(1));
    let after = run_as(
        &gateway,
        "alice",
        "return (await artifacts.list()).length",
        10_000,
    );
    let after = tokio::time::timeout(STOPPED, after).await;
    value_of(&after.expect("the gateway answers"));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_reads_of_one_large_artifact_at_once_are_answered() {
    let program = "const saved = await artifacts.save('x'.repeat(4e6));
         const read = async () => (await artifacts.open(saved.id).text()).length;
         const all = await Promise.all(Array.from({ length: 60 }, read));
         return all.reduce((sum, each) => sum + each, 0)";
    is_answered(Language::Typescript, program, 240_000_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_reads_of_one_large_artifact_at_once_are_answered_in_python() {
    let program = "import asyncio\n\
         saved = await artifacts.save('x' * 4_000_000)\n\
         async def read():\n    return len(await artifacts.open(saved['id']).text())\n\
         sum(await asyncio.gather(*[read() for _ in range(60)]))";
    is_answered(Language::Python, program, 240_000_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_reads_of_one_large_value_at_once_are_answered() {
    let program = "await store.set('large', 'x'.repeat(1e6));
         const read = async () => ((await store.get('large')) as string).length;
         const all = await Promise.all(Array.from({ length: 200 }, read));
         return all.reduce((sum, each) => sum + each, 0)";
    is_answered(Language::Typescript, program, 200_000_000).await;
}

/// Bytes of memory that this process held at most so far, with the gateway that is in it.
#[cfg(target_os = "linux")]
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib * 1_024
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn answers_that_a_program_does_not_take_hold_a_bounded_part_of_memory() {
    let directory = tempfile::tempdir().unwrap();
    let gateway = gateway(&directory).await;
    let saved = run_as(
        &gateway,
        "alice",
        "return (await artifacts.save(Array.from({ length: 40000 }, (_, id) => ({ id, text: 'x'.repeat(80) })))).id",
        60_000,
    );
    let id = value_of(&saved.await);
    for read in ["text()", "base64()", "select('$[*].id')", "info()"] {
        let flood = format!(
            "const opened = artifacts.open({id});
             for (let n = 0; n < 1500; n++) opened.{read};
             const begun = Date.now(); while (Date.now() === begun) {{ for (let i = 0; i < 1e6; i++); }}"
        );
        let envelope = run_as(&gateway, "alice", &flood, 4_000).await;
        assert!(envelope.error.is_some(), "{read}: {envelope:?}");
        let peak = peak_bytes();
        assert!(peak < 900 << 20, "{read}: {} MiB", peak >> 20);
        // The control: the same read, awaited.
        let one = format!("await artifacts.open({id}).{read}; return 1");
        assert_eq!(
            value_of(&run_as(&gateway, "alice", &one, 60_000).await),
            json!(1)
        );
    }
    gateway.shutdown().await;
}

/// The warning about calls that the gateway waited for until it gave them up, which takes two seconds.
fn gave_up(envelope: &Envelope) -> Option<&str> {
    let mut warnings = envelope.warnings.iter().map(String::as_str);
    warnings.find(|text| text.contains("still in flight at the end"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_ends_soon_after_its_limit_whatever_it_waits_for() {
    const WALL_MS: u64 = 1_000;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    let gateway = World::new(worker())
        .store(store)
        .silent("deaf")
        .start()
        .await;
    let save = "return (await artifacts.save(Array.from({ length: 60000 }, (_, id) => ({ id, a: [1, 2] })))).id";
    let id = value_of(&run_as(&gateway, "alice", save, 60_000).await);
    let late = async |program: &str| {
        let mut fastest = Duration::MAX;
        for _ in 0..TRIES {
            let started = Instant::now();
            let envelope = run_as(&gateway, "alice", program, WALL_MS).await;
            let late = started
                .elapsed()
                .saturating_sub(Duration::from_millis(WALL_MS));
            let kind = envelope.error.as_ref().map(|error| error.kind);
            assert_eq!(kind, Some(ErrorKind::Timeout), "{program}: {envelope:?}");
            assert_eq!(gave_up(&envelope), None, "{program}");
            fastest = fastest.min(late);
            if fastest < SOON {
                break;
            }
        }
        fastest
    };
    let control = late("await new Promise(done => setTimeout(done, 60000))").await;
    let paths = format!(
        "await Promise.all(Array.from({{ length: 400 }}, () => artifacts.open({id}).select('$..[?@.id == @.a]')))"
    );
    for program in [
        paths.as_str(),
        "await describe('deaf')",
        "await describe('deaf', 't')",
        "await callMCPTool('mcp__deaf__t', {})",
    ] {
        let late = late(program).await;
        println!("{late:?} late, the control {control:?}: {program}");
        assert!(late < control + SOON, "{late:?}: {program}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_of_one_principal_do_not_hold_back_another_and_end_with_their_program() {
    let directory = tempfile::tempdir().unwrap();
    let gateway = gateway(&directory).await;
    let save = "return (await artifacts.save(Array.from({ length: 60000 }, (_, id) => ({ id, a: [1, 2] })))).id";
    let id = value_of(&run_as(&gateway, "alice", save, 60_000).await);
    let flood = format!(
        "await Promise.all(Array.from({{ length: 800 }}, () => artifacts.open({id}).select('$..[?@.id == @.a]')))"
    );
    let started = Instant::now();
    let (flooded, polite) = tokio::join!(run_as(&gateway, "alice", &flood, 4_000), async {
        let small = "const saved = await artifacts.save({ a: 1 });
                 const begun = Date.now();
                 for (let n = 0; n < 3; n++) await artifacts.open(saved.id).select('$.a');
                 return 1";
        (
            run_as(&gateway, "bob", small, 60_000).await,
            started.elapsed(),
        )
    });
    assert!(flooded.error.is_some(), "{flooded:?}");
    assert_eq!(gave_up(&flooded), None, "{flooded:?}");
    let (polite, took) = polite;
    assert_eq!(value_of(&polite), json!(1));
    // The flood lasts for four seconds, and a program that waits behind it would wait as long.
    assert!(took < Duration::from_millis(4_000), "{took:?}");
    gateway.shutdown().await;
}
