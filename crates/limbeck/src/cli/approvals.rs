//! Arguments of `limbeck approvals`, `resume` and `reconcile`, and of `--on-ask`.

use clap::{Args, Subcommand, ValueEnum};
use limbeck_domain::RememberChoice;
use limbeck_gateway::OnAsk;

/// Names of what a call does that has to be approved first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnAskName {
    /// Pause the program and end with 3; `limbeck resume` goes on with it
    Pause,
    /// Fail the call with the code `denied`, which the program can catch
    Deny,
    /// End the program with an error
    Fail,
}

impl From<OnAskName> for OnAsk {
    fn from(name: OnAskName) -> Self {
        match name {
            OnAskName::Pause => Self::Pause,
            OnAskName::Deny => Self::Deny,
            OnAskName::Fail => Self::Fail,
        }
    }
}

/// Answers that count for more calls than one.
#[derive(Debug, Subcommand)]
pub(crate) enum RememberedCommand {
    /// List answers that count for more calls than one
    Remembered {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget such answers: their calls are asked about again
    Forget {
        /// Their ids, or the beginnings of them; the whole id of a question that was denied in the last 10 minutes
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) remembered: Option<RememberedCommand>,
    /// Question to show, by its id or the beginning of it
    pub(crate) id: Option<String>,
    /// List decided and expired questions too
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Paused execution, by its id or the beginning of it
    #[arg(value_name = "EXECUTION")]
    pub(crate) execution: String,
    /// Approve the questions AP [default: all that wait]
    #[arg(long, value_name = "AP", num_args = 0..)]
    pub(crate) approve: Option<Vec<String>>,
    /// Of the plan that is approved, accept these lines alone, such as 1,3 [default: all but the destructive ones]
    #[arg(long, value_name = "LINES", requires = "approve")]
    pub(crate) lines: Option<String>,
    /// Of the plan that is approved, let each line that is repeated many times cover N calls [default: 25]
    #[arg(long, value_name = "N", requires = "approve")]
    pub(crate) many: Option<u32>,
    /// Deny the questions AP [default: all that wait]
    #[arg(long, value_name = "AP", num_args = 0..)]
    pub(crate) deny: Option<Vec<String>>,
    /// End the execution; its questions are withdrawn and nothing is sent
    #[arg(long, conflicts_with_all = ["approve", "lines", "many", "deny", "edit", "reason", "remember", "wait"])]
    pub(crate) stop: bool,
    /// Why, for the program and the model
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Let the approvals count for calls like them too: `run`, `run:N` for N calls, `session`, `8h` to `30d`, `always`
    #[arg(
        long,
        value_name = "HOW-LONG",
        requires = "approve",
        conflicts_with = "edit"
    )]
    pub(crate) remember: Option<RememberChoice>,
    /// Approve the question AP with other arguments: JSON has all of them; repeat for more questions
    #[arg(long, value_name = "AP=JSON")]
    pub(crate) edit: Vec<String>,
    /// Wait until the execution has ended, also when other people decide
    #[arg(long)]
    pub(crate) wait: bool,
    /// Print the whole envelope as one JSON object, and ask nothing
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("settlement").requires("call"))]
pub(crate) struct ReconcileArgs {
    /// Execution, by its id or the beginning of it
    #[arg(value_name = "EXECUTION")]
    pub(crate) execution: String,
    /// Number of the call [default: list all calls in doubt]
    #[arg(value_name = "CALL", requires = "settlement")]
    pub(crate) call: Option<u32>,
    /// The call happened
    #[arg(long, group = "settlement")]
    pub(crate) happened: bool,
    /// What the server answered: a `CallToolResult`
    #[arg(
        long,
        value_name = "JSON",
        requires = "happened",
        conflicts_with_all = ["did_not_happen", "retry", "give_up"]
    )]
    pub(crate) result: Option<String>,
    /// The call did not happen; the program may make it again
    #[arg(long, group = "settlement")]
    pub(crate) did_not_happen: bool,
    /// Decide about the call again and send it a second time
    #[arg(long, group = "settlement")]
    pub(crate) retry: bool,
    /// Leave it unknown; the program gets an error
    #[arg(long, group = "settlement")]
    pub(crate) give_up: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn parsed(arguments: &[&str]) -> Result<Command, clap::Error> {
        let arguments = ["limbeck"].iter().chain(arguments);
        Cli::try_parse_from(arguments).map(|cli| cli.command.unwrap())
    }

    fn resume(arguments: &[&str]) -> ResumeArgs {
        match parsed(&[&["resume"], arguments].concat()).unwrap() {
            Command::Resume(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn approve_without_ids_is_not_the_same_as_no_approval() {
        assert_eq!(resume(&["ex_1"]).approve, None);
        assert_eq!(resume(&["ex_1", "--approve"]).approve, Some(Vec::new()));
        let named = resume(&[
            "ex_1",
            "--approve",
            "ap_1",
            "ap_2",
            "--deny",
            "ap_3",
            "--reason",
            "r",
        ]);
        assert_eq!(named.approve.unwrap(), ["ap_1", "ap_2"]);
        assert_eq!(named.deny.unwrap(), ["ap_3"]);
        let twice = resume(&["ex_1", "--approve", "ap_1", "--approve", "ap_2"]);
        assert_eq!(twice.approve.unwrap(), ["ap_1", "ap_2"]);
        assert_eq!(
            resume(&["ex_1", "--edit", "ap_1={\"to\": \"a=b\"}"])
                .edit
                .len(),
            1
        );
    }

    #[test]
    fn lines_belong_to_an_approval() {
        let lines = resume(&["ex_1", "--approve", "--lines", "1,3"]).lines;
        assert_eq!(lines.as_deref(), Some("1,3"));
        assert!(parsed(&["resume", "ex_1", "--lines", "1"]).is_err());
        assert!(parsed(&["resume", "ex_1", "--stop", "--lines", "1"]).is_err());
    }

    #[test]
    fn stopping_goes_with_no_decision() {
        assert!(resume(&["ex_1", "--stop", "--json"]).stop);
        for other in [
            "--approve",
            "--deny",
            "--wait",
            "--reason=x",
            "--edit=ap={}",
        ] {
            assert!(
                parsed(&["resume", "ex_1", "--stop", other]).is_err(),
                "{other}"
            );
        }
        assert!(parsed(&["resume"]).is_err());
    }

    #[test]
    fn a_call_in_doubt_gets_exactly_one_of_four_answers() {
        let all = ["--happened", "--did-not-happen", "--retry", "--give-up"];
        for one in all {
            assert!(parsed(&["reconcile", "ex_1", "3", one]).is_ok(), "{one}");
            // Without a call there is nothing to answer.
            assert!(parsed(&["reconcile", "ex_1", one]).is_err(), "{one}");
            for other in all.iter().filter(|other| **other != one) {
                assert!(
                    parsed(&["reconcile", "ex_1", "3", one, other]).is_err(),
                    "{one} {other}"
                );
            }
        }
        assert!(parsed(&["reconcile", "ex_1"]).is_ok());
        assert!(parsed(&["reconcile", "ex_1", "3"]).is_err());
        assert!(parsed(&["reconcile", "ex_1", "3", "--happened", "--result", "{}"]).is_ok());
        assert!(parsed(&["reconcile", "ex_1", "3", "--retry", "--result", "{}"]).is_err());
        assert!(parsed(&["reconcile", "ex_1", "three", "--retry"]).is_err());
    }

    #[test]
    fn no_way_to_answer_a_question_allows_a_call_by_itself() {
        let on_ask = |value: &str| match parsed(&["run", "a.ts", "--on-ask", value]) {
            Ok(Command::Run(arguments)) => arguments.on_ask,
            Ok(other) => panic!("{other:?}"),
            Err(_) => None,
        };
        assert_eq!(on_ask("pause"), Some(OnAskName::Pause));
        assert_eq!(on_ask("deny"), Some(OnAskName::Deny));
        assert_eq!(on_ask("fail"), Some(OnAskName::Fail));
        assert_eq!(on_ask("allow"), None);
        assert!(parsed(&["run", "a.ts", "--check", "--on-ask", "deny"]).is_err());
    }
}
