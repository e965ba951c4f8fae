//! A journal that another release wrote, or that was altered.

use limbeck_domain::{ErrorKind, ExecutionStatus, GUEST_ABI, Language};
use limbeck_gateway::{ReplayError, ResumeError};
use serde_json::json;

use super::{Paused, value};

const PROGRAM: &str = "const word: string = \"written\";\n\
                       const sent = (await tools.t.send({ n: 1 })).sent;\n\
                       return [word, sent];";
const OF_PYTHON: &str = "return (await tools.t.send(n=1))[\"sent\"]";

#[tokio::test(flavor = "multi_thread")]
async fn a_continued_and_a_replayed_program_run_the_script_that_was_recorded() {
    let world = Paused::start().await;
    let id = world.paused(Language::Typescript, PROGRAM).await;
    // As a compiler of another release would have made it.
    let other = "UPDATE journal SET entry = replace(entry, 'written', 'recorded')
                 WHERE substr(entry, 1, 10) = '{\"erased\":'";
    assert_eq!(world.change(other), 1);
    world.approve_all(&id).await;
    let envelope = world.resume(&id).await.unwrap();
    assert_eq!(value(&envelope), json!(["recorded", 1]));
    assert_eq!(world.sent(), 1);
    let replayed = world.gateway.replay(id.as_str()).await.unwrap();
    assert_eq!(replayed.differences, Vec::<String>::new());
    assert_eq!(value(&replayed.envelope), json!(["recorded", 1]));
    // The control: another script has another value.
    let control = "UPDATE journal SET entry = replace(entry, 'recorded', 'other')
                   WHERE substr(entry, 1, 10) = '{\"erased\":'";
    assert_eq!(world.change(control), 1);
    let replayed = world.gateway.replay(id.as_str()).await.unwrap();
    assert_eq!(replayed.differences, ["the value differs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_script_is_recorded_compressed_and_one_of_an_old_journal_is_made_again() {
    let world = Paused::start().await;
    let large = format!("const long = \"{}\";\n{PROGRAM}", "x".repeat(40_000));
    let id = world.paused(Language::Typescript, &large).await;
    assert_eq!(
        world.change("UPDATE journal SET entry = entry WHERE entry LIKE '{\"erased\":{\"deflated\":%' AND length(entry) < 4000"),
        1
    );
    world.approve_all(&id).await;
    let envelope = world.resume(&id).await.unwrap();
    assert_eq!(value(&envelope), json!(["written", 1]));

    let old = world.paused(Language::Typescript, PROGRAM).await;
    let journal = format!(
        "DELETE FROM journal WHERE substr(entry, 1, 10) = '{{\"erased\":'
         AND execution = (SELECT row FROM execution WHERE id = '{old}')"
    );
    assert_eq!(world.change(&journal), 1);
    world.change(&format!(
        "UPDATE start SET start = json_remove(start, '$.abi', '$.release')
         WHERE execution = (SELECT row FROM execution WHERE id = '{old}')"
    ));
    world.approve_all(&old).await;
    let envelope = world.resume(&old).await.unwrap();
    assert_eq!(value(&envelope), json!(["written", 1]));
    assert_eq!(world.sent(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_another_guest_is_not_tried_and_the_error_names_guest_and_release() {
    let world = Paused::start().await;
    for (language, program, expected) in [
        (Language::Typescript, PROGRAM, json!(["written", 1])),
        (Language::Python, OF_PYTHON, json!(1)),
    ] {
        let id = world.paused(language, program).await;
        world.approve_all(&id).await;
        let of = format!("WHERE id = '{id}'");
        let start = format!("WHERE execution = (SELECT row FROM execution {of})");
        let record = world.gateway.store().execution(id.as_str()).await;
        let ours = record.unwrap().unwrap().guest_hash;
        let theirs = "0f".repeat(32);
        world.change(&format!(
            "UPDATE execution SET guest_hash = '{theirs}' {of}"
        ));
        world.change(&format!(
            "UPDATE start SET start = json_set(start, '$.release', '0.0.7') {start}"
        ));
        let sent = world.sent();
        let error = world.resume(&id).await.unwrap_err();
        assert!(matches!(error, ResumeError::Guest(_)), "{error:?}");
        let (text, hint) = (error.to_string(), error.hint().unwrap());
        assert!(
            text.contains(&theirs) && text.contains("limbeck 0.0.7") && text.contains(&ours),
            "{text}"
        );
        assert!(hint.contains("limbeck 0.0.7"), "{hint}");
        assert_eq!(world.status(&id).await, ExecutionStatus::Paused);
        let guests = world.gateway.store().paused_guests().await.unwrap();
        assert_eq!(
            (guests[0].guest_hash.as_str(), guests[0].release.as_str()),
            (theirs.as_str(), "0.0.7")
        );
        // Another version of what a guest is given is refused as well.
        world.change(&format!("UPDATE execution SET guest_hash = '{ours}' {of}"));
        world.change(&format!(
            "UPDATE start SET start = json_set(start, '$.abi', {}) {start}",
            GUEST_ABI + 1
        ));
        let error = world.resume(&id).await.unwrap_err();
        assert!(matches!(error, ResumeError::Guest(_)), "{error:?}");
        assert_eq!(world.sent(), sent);
        // The control.
        world.change(&format!(
            "UPDATE start SET start = json_set(start, '$.abi', {GUEST_ABI}) {start}"
        ));
        let envelope = world.resume(&id).await.unwrap();
        assert_eq!(value(&envelope), expected);
        world.change(&format!(
            "UPDATE execution SET guest_hash = '{theirs}' {of}"
        ));
        let error = world.gateway.replay(id.as_str()).await.unwrap_err();
        assert!(matches!(error, ReplayError::Guest(_)), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_something_else_than_its_journal_says_sends_nothing() {
    let world = Paused::start().await;
    for (language, program) in [
        (
            Language::Typescript,
            "await tools.t.look({ n: 7 }); return (await tools.t.send({ n: 1 })).sent",
        ),
        (
            Language::Python,
            "await tools.t.look(n=7)\nreturn (await tools.t.send(n=1))[\"sent\"]",
        ),
    ] {
        for altered in ["look", "send"] {
            let id = world.paused(language, program).await;
            world.approve_all(&id).await;
            // Arguments in the journal: of a read that was made, or of the call that a person was asked about.
            let (before, after) = match altered {
                "look" => ("7}", "8}"),
                _ => ("1}", "2}"),
            };
            let changed = world.change(&format!(
                "UPDATE journal SET entry = replace(entry, '{before}', '{after}')
                 WHERE execution = (SELECT row FROM execution WHERE id = '{id}')
                 AND (entry LIKE '{{\"call\":%' OR entry LIKE '{{\"asked\":%') AND instr(entry, '{before}') > 0"
            ));
            assert_eq!(changed, 1, "{altered}");
            let envelope = world.resume(&id).await.unwrap();
            let error = envelope.error.unwrap();
            assert_eq!(error.kind, ErrorKind::Diverged, "{altered}: {error:?}");
            assert_eq!(world.status(&id).await, ExecutionStatus::Failed);
            assert_eq!(world.sent(), 0, "{altered}");
        }
    }
    // The control: unaltered, it is sent.
    let id = world.paused(Language::Python, OF_PYTHON).await;
    world.approve_all(&id).await;
    assert_eq!(value(&world.resume(&id).await.unwrap()), json!(1));
    assert_eq!(world.sent(), 1);
}
