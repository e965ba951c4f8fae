//! Requests of a server that were not answered yet, bounded in count and bytes.
//!
//! A request counts from its arrival until the server has taken its answer. Otherwise a server that sends
//! `ping` for ever and never reads its input would fill the gateway with answers.

use std::collections::HashMap;

use limbeck_domain::limits;
use rmcp::model::RequestId;

/// Requests that wait for an answer or for its writing; further ones are dropped. Each may show a dialog to the
/// user, so a sensible server has one or two.
const PEER_REQUESTS_MAX: usize = 32;
/// Bytes of their parameters and of their answers.
const PEER_BYTES_MAX: usize = limits::UPSTREAM_LINE_BYTES_MAX;
/// Longest string id; ids are numbers or UUIDs.
const PEER_ID_BYTES_MAX: usize = 256;
/// Requests that a server may send in a row while it takes no answer.
const UNTAKEN_IN_A_ROW_MAX: usize = 1_024;

/// What happens to a request of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerAdmission {
    /// It is answered.
    Admitted,
    /// It gets no answer: too many wait.
    Dropped,
    /// The server keeps sending requests and does not read its input, so it should be ended.
    Deaf,
}

/// Unanswered requests of one connection.
#[derive(Debug, Default)]
pub(crate) struct PeerRequests {
    by_id: HashMap<RequestId, PeerRequest>,
    bytes: usize,
    answers_waiting: usize,
    /// Requests dropped, and answers that could not be written, since the server last took an answer.
    untaken_in_a_row: usize,
}

#[derive(Debug)]
struct PeerRequest {
    bytes: usize,
    is_answered: bool,
}

impl PeerRequests {
    /// Admits the request `id` with parameters of `bytes`.
    pub(crate) fn admit(&mut self, id: &RequestId, bytes: usize) -> PeerAdmission {
        if self.untaken_in_a_row >= UNTAKEN_IN_A_ROW_MAX {
            return PeerAdmission::Deaf;
        }
        let is_long = matches!(id, RequestId::String(id) if id.len() > PEER_ID_BYTES_MAX);
        // A second request of the same id could not be distinguished from the first one.
        if is_long
            || self.by_id.len() >= PEER_REQUESTS_MAX
            || self.bytes.saturating_add(bytes) > PEER_BYTES_MAX
            || self.by_id.contains_key(id)
        {
            return self.dropped();
        }
        self.bytes += bytes;
        let request = PeerRequest {
            bytes,
            is_answered: false,
        };
        self.by_id.insert(id.clone(), request);
        PeerAdmission::Admitted
    }

    fn dropped(&mut self) -> PeerAdmission {
        // Without an answer that waits, the user or another server is slow, and this one may read its input.
        self.untaken_in_a_row += usize::from(self.answers_waiting > 0);
        PeerAdmission::Dropped
    }

    /// Counts the answer to `id`; `false` when it does not fit.
    pub(crate) fn begin_answer(&mut self, id: &RequestId, bytes: usize) -> bool {
        let total = self.bytes.saturating_add(bytes);
        let Some(request) = self.by_id.get_mut(id) else {
            // Of a request from before the end of the handshake.
            return true;
        };
        if total > PEER_BYTES_MAX {
            return false;
        }
        self.bytes = total;
        request.bytes += bytes;
        if !std::mem::replace(&mut request.is_answered, true) {
            self.answers_waiting += 1;
        }
        true
    }

    /// Records that the server took an answer.
    pub(crate) fn note_written(&mut self) {
        self.untaken_in_a_row = 0;
    }

    /// Records that an answer could not be written.
    pub(crate) fn note_unwritten(&mut self) {
        self.untaken_in_a_row += 1;
    }

    /// Removes the request `id`.
    pub(crate) fn forget(&mut self, id: &RequestId) {
        if let Some(request) = self.by_id.remove(id) {
            self.bytes -= request.bytes;
            self.answers_waiting -= usize::from(request.is_answered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> RequestId {
        RequestId::Number(i64::try_from(n).unwrap())
    }

    #[test]
    fn requests_count_until_their_answer_was_taken() {
        let mut requests = PeerRequests::default();
        for n in 0..PEER_REQUESTS_MAX {
            assert_eq!(requests.admit(&id(n), 10), PeerAdmission::Admitted);
            assert!(requests.begin_answer(&id(n), 10));
        }
        assert_eq!(requests.admit(&id(99), 0), PeerAdmission::Dropped);
        requests.forget(&id(0));
        assert_eq!(requests.admit(&id(99), 0), PeerAdmission::Admitted);
        assert_eq!(requests.bytes, (PEER_REQUESTS_MAX - 1) * 20);
    }

    #[test]
    fn a_server_that_takes_no_answer_is_deaf_and_one_that_takes_some_is_not() {
        let mut requests = PeerRequests::default();
        for n in 0..PEER_REQUESTS_MAX {
            requests.admit(&id(n), 0);
            requests.begin_answer(&id(n), 0);
        }
        for round in 0..3 {
            for _ in 1..UNTAKEN_IN_A_ROW_MAX {
                assert_eq!(
                    requests.admit(&id(99), 0),
                    PeerAdmission::Dropped,
                    "{round}"
                );
            }
            requests.note_written();
        }
        for _ in 0..UNTAKEN_IN_A_ROW_MAX {
            assert_eq!(requests.admit(&id(99), 0), PeerAdmission::Dropped);
        }
        assert_eq!(requests.admit(&id(99), 0), PeerAdmission::Deaf);
    }

    #[test]
    fn a_server_whose_answers_cannot_be_written_is_deaf() {
        let mut requests = PeerRequests::default();
        for _ in 0..UNTAKEN_IN_A_ROW_MAX {
            assert_eq!(requests.admit(&id(1), 0), PeerAdmission::Admitted);
            requests.begin_answer(&id(1), 0);
            requests.note_unwritten();
            requests.forget(&id(1));
        }
        assert_eq!(requests.admit(&id(1), 0), PeerAdmission::Deaf);
    }

    #[test]
    fn questions_that_wait_for_the_user_do_not_make_a_server_deaf() {
        let mut requests = PeerRequests::default();
        for n in 0..PEER_REQUESTS_MAX {
            requests.admit(&id(n), 0);
        }
        for _ in 0..UNTAKEN_IN_A_ROW_MAX * 2 {
            assert_eq!(requests.admit(&id(99), 0), PeerAdmission::Dropped);
        }
    }

    #[test]
    fn bytes_of_requests_and_answers_have_one_bound() {
        let mut requests = PeerRequests::default();
        let half = PEER_BYTES_MAX / 2;
        assert_eq!(requests.admit(&id(1), half), PeerAdmission::Admitted);
        assert_eq!(requests.admit(&id(2), half + 1), PeerAdmission::Dropped);
        assert!(!requests.begin_answer(&id(1), half + 1));
        assert!(requests.begin_answer(&id(1), half));
        requests.forget(&id(1));
        assert_eq!(requests.bytes, 0);
        let long = RequestId::String("x".repeat(PEER_ID_BYTES_MAX + 1).into());
        assert_eq!(requests.admit(&long, 0), PeerAdmission::Dropped);
    }

    #[test]
    fn an_id_that_is_in_use_is_dropped_and_free_again_after_its_answer() {
        let mut requests = PeerRequests::default();
        assert_eq!(requests.admit(&id(1), 0), PeerAdmission::Admitted);
        assert_eq!(requests.admit(&id(1), 0), PeerAdmission::Dropped);
        requests.forget(&id(1));
        assert_eq!(requests.admit(&id(1), 0), PeerAdmission::Admitted);
    }
}
