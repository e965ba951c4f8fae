//! What a person types in answer to a question, or to a group of them.

use limbeck_domain::RememberChoice;
use limbeck_gateway::approval_groups::members;
use limbeck_gateway::approval_view::line_numbers;

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// Yes, to all that is shown.
    Approve(Option<RememberChoice>),
    /// Yes, to some members of a group.
    ApproveSome(Vec<usize>),
    /// Yes, to these lines of a plan.
    Lines(Vec<u32>),
    /// No, to all that is shown.
    Deny,
    /// No, to some members of a group.
    DenySome(Vec<usize>),
    /// No, and the program ends.
    Stop,
    Later,
    Unclear,
}

/// Reads an answer to `count` questions that are shown together.
pub(super) fn reply(line: &str, count: usize) -> Reply {
    let line = line.trim().to_ascii_lowercase();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
    let rest = rest.trim();
    let some = || members(rest, count).filter(|_| count > 1);
    match (word, rest) {
        ("", _) => Reply::Later,
        ("y" | "yes", "") => Reply::Approve(None),
        ("y" | "yes", _) => match (rest.parse(), some()) {
            (Ok(choice), _) => Reply::Approve(Some(choice)),
            (Err(_), Some(members)) => Reply::ApproveSome(members),
            (Err(_), None) => Reply::Unclear,
        },
        ("n" | "no", "") => Reply::Deny,
        ("n" | "no", _) => some().map_or(Reply::Unclear, Reply::DenySome),
        ("s" | "stop", "") => Reply::Stop,
        _ => Reply::Unclear,
    }
}

/// Reads an answer to a question about the plan of a program.
pub(super) fn reply_to_plan(line: &str) -> Reply {
    if let Ok(Some(lines)) = line_numbers(line) {
        return Reply::Lines(lines);
    }
    match reply(line, 1) {
        // A plan is for one run.
        Reply::Approve(Some(_)) => Reply::Unclear,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_approves() {
        for line in ["y", "Y", " yes ", "YES"] {
            assert_eq!(reply(line, 1), Reply::Approve(None), "{line}");
        }
        for line in ["n", "No"] {
            assert_eq!(reply(line, 1), Reply::Deny, "{line}");
        }
        for line in ["s", "Stop"] {
            assert_eq!(reply(line, 1), Reply::Stop, "{line}");
        }
        for line in ["", "  "] {
            assert_eq!(reply(line, 1), Reply::Later, "{line}");
        }
        for line in [
            "yy",
            "yes please",
            "ja",
            "1",
            "allow",
            "y n",
            "y 1",
            "n 1",
            "s 1",
            "y never",
            "y 1h",
        ] {
            assert_eq!(reply(line, 1), Reply::Unclear, "{line}");
        }
    }

    #[test]
    fn a_yes_may_be_for_longer_or_for_some_of_a_group() {
        let choice = |text: &str| Reply::Approve(Some(text.parse().unwrap()));
        assert_eq!(reply("y run", 1), choice("run"));
        assert_eq!(reply("yes  RUN:40", 3), choice("run:40"));
        assert_eq!(reply("y 8h", 9), choice("8h"));
        assert_eq!(reply("y 1-2,4", 4), Reply::ApproveSome(vec![0, 1, 3]));
        assert_eq!(reply("n 2", 3), Reply::DenySome(vec![1]));
        for line in ["y 5", "y 0", "n 2-", "y 1 2"] {
            assert_eq!(reply(line, 4), Reply::Unclear, "{line}");
        }
    }

    #[test]
    fn numbers_answer_a_question_about_a_plan() {
        assert_eq!(reply_to_plan("1, 3"), Reply::Lines(vec![1, 3]));
        assert_eq!(reply_to_plan("y"), Reply::Approve(None));
        assert_eq!(reply_to_plan(""), Reply::Later);
        for line in ["1-3", "0", "all", "yes 1", "y run"] {
            assert_eq!(reply_to_plan(line), Reply::Unclear, "{line}");
        }
    }
}
