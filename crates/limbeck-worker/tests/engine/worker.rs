//! The worker as its gateway sees it: ready before it is sent anything, deterministic, one program.

use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

use crate::gateway::{Gateway, Run, serve};
use limbeck_domain::Language;
use limbeck_wire::{Delivery, PROTOCOL_VERSION, ToWorker};

#[test]
fn a_worker_names_protocol_and_guest_and_then_ends_with_its_program() {
    let outcome = Run::new("return 1").go();
    assert_eq!(outcome.ready.protocol, PROTOCOL_VERSION);
    assert_eq!(
        outcome.ready.guest_hash,
        limbeck_guests::guest_hash(Language::Typescript)
    );
    assert_eq!(outcome.ready.guest_hash.len(), 64);
}

#[test]
fn the_same_start_gives_the_same_run_and_another_seed_another() {
    let program = "\
const ids = Array.from({ length: 50 }, () => Math.random());
const t0 = Date.now();
await new Promise(r => setTimeout(r, 1234));
const answers = await Promise.all(ids.map((id, i) => tools.test.echo({ id, i })));
return { ids, t0, t1: Date.now(), uuid: crypto.randomUUID(), answers: answers.length };";
    let first = Run::new(program).go();
    let second = Run::new(program).go();
    assert_eq!(first.value(), second.value());
    assert_eq!(first.calls, second.calls);

    let mut other = Run::new(program);
    other.start.seed = [8; 32];
    assert_ne!(other.go().value(), first.value());
}

#[test]
fn the_clock_stands_still_until_something_is_delivered() {
    let program = "\
const a = Date.now();
for (let i = 0; i < 1e6; i++) {}
const b = Date.now();
await tools.test.echo({});
return [a, b - a, Date.now() - a];";
    assert_eq!(Run::new(program).go().value(), "[1700000000000,0,1]");
}

#[test]
fn a_gateway_that_leaves_or_misspeaks_ends_the_worker() {
    let end_of = |speak: fn(&mut Gateway)| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let worker = thread::spawn(move || serve(Language::Typescript, theirs.into()));
        let mut gateway = Gateway::new(ours);
        gateway.ready();
        speak(&mut gateway);
        drop(gateway);
        worker.join().unwrap()
    };
    let success = format!("{:?}", ExitCode::SUCCESS);
    assert_eq!(format!("{:?}", end_of(|_| {})), success);
    let deliver = |gateway: &mut Gateway| gateway.send(&ToWorker::Deliver(Delivery::default()));
    assert_ne!(format!("{:?}", end_of(deliver)), success);
    let leave = |gateway: &mut Gateway| {
        let start = Run::new("await tools.test.echo({}); while (true) {}").start;
        gateway.send(&ToWorker::Start(Box::new(start.into())));
    };
    assert_ne!(format!("{:?}", end_of(leave)), success);
}
