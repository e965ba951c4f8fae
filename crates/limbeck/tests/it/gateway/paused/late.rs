//! Approvals that come when the execution has ended.

use limbeck_domain::{ApprovalState, ErrorKind, ExecutionStatus, Language};
use limbeck_gateway::{DecisionReport, ResumeError};
use serde_json::json;

use super::{Paused, value};

const PROGRAM: &str = "return (await tools.t.send({ n: 1 })).sent";

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_after_the_expiry_or_the_cancel_does_not_count_and_one_before_does() {
    let world = Paused::start().await;
    for is_cancelled in [false, true] {
        let id = world.paused(Language::Typescript, PROGRAM).await;
        let questions = world.questions(&id, true).await;
        let [question] = questions.as_slice() else {
            panic!("one question")
        };
        if is_cancelled {
            world
                .gateway
                .stop(id.as_str(), None, limbeck_gateway::StoppedBy::User)
                .await
                .unwrap();
        } else {
            world.change(&format!(
                "UPDATE approval SET expires_us = 1, body = json_set(body, '$.expires_us', 1) WHERE id = '{question}'"
            ));
            world.change(&format!(
                "UPDATE execution SET expires_us = 1 WHERE id = '{id}'"
            ));
            // Listing them ends what has expired.
            assert!(world.questions(&id, true).await.is_empty());
        }
        let DecisionReport::TooLate(approval) = world.decide(question, true).await else {
            panic!("it counts")
        };
        let expected = match is_cancelled {
            true => ApprovalState::Withdrawn,
            false => ApprovalState::Expired,
        };
        assert_eq!(approval.state, expected);
        let Err(ResumeError::Ended(shown)) = world.resume(&id).await else {
            panic!("it goes on")
        };
        assert_eq!(shown.envelope.status, ExecutionStatus::Cancelled);
        let kind = shown.envelope.error.map(|error| error.kind);
        let expected = match is_cancelled {
            true => ErrorKind::Cancelled,
            false => ErrorKind::ApprovalExpired,
        };
        assert_eq!(kind, Some(expected));
        assert_eq!(world.sent(), 0);
    }
    // The control.
    let id = world.paused(Language::Typescript, PROGRAM).await;
    world.approve_all(&id).await;
    assert_eq!(value(&world.resume(&id).await.unwrap()), json!(1));
    assert_eq!(world.sent(), 1);
}
