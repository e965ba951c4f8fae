//! On a terminal `run` and `call` show the question and read the answer from there. The terminal is a pseudoterminal of
//! Python's standard library.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ASK, CATCHING, Mail, PROGRAM};
use crate::world::{LIMBECK, World, search_path};

/// Time after which a condition counts as one that never holds.
const HANG: Duration = Duration::from_secs(60);

/// Runs a command with a controlling terminal. The second argument has pairs of a text to wait for and what is typed then; an
/// empty text is typed at once. Prints everything that the terminal got, and ends with the command's code.
const DRIVER: &str = r#"
import fcntl, json, os, pty, select, struct, sys, termios, time
command, steps, environment = map(json.loads, sys.argv[1:])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.execve(command[0], command, environment)
seen, at, limit = b"", 0, time.monotonic() + 60
while True:
    while steps and (found := seen.find(steps[0][0].encode(), at)) >= 0:
        wait_for, typed = steps.pop(0)
        at = found + len(wait_for.encode())
        os.write(terminal, typed.encode())
    if time.monotonic() > limit:
        os.kill(pid, 9)
        sys.exit("hangs: " + seen.decode(errors="replace"))
    if not select.select([terminal], [], [], 0.1)[0]:
        continue
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
_, status = os.waitpid(pid, 0)
sys.stdout.write(seen.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(status))
"#;

/// Runs the executable on a terminal and types; returns its exit code and what the terminal showed.
pub(super) fn on_terminal(
    mail: &Mail,
    arguments: &[&str],
    steps: &[(&str, &str)],
) -> (i32, String) {
    on_terminal_of(&mail.world, arguments, steps)
}

/// As [`on_terminal`], for any world.
pub(crate) fn on_terminal_of(
    world: &World,
    arguments: &[&str],
    steps: &[(&str, &str)],
) -> (i32, String) {
    let command: Vec<&str> = [LIMBECK].iter().chain(arguments).copied().collect();
    command_on_terminal(world, &command, steps)
}

/// Any command on a terminal.
fn command_on_terminal(world: &World, command: &[&str], steps: &[(&str, &str)]) -> (i32, String) {
    let path = search_path();
    let environment = json!({
        "HOME": world.home(), "PATH": path.to_str().unwrap(), "TERM": "xterm", "LIMBECK_TRUST_PROJECT": "1",
    });
    // Only the command has an environment of its own: where Python is may depend on that of the test.
    let output = Command::new("python3")
        .args(["-c", DRIVER])
        .args([json!(command), json!(steps), environment].map(|json| json.to_string()))
        .current_dir(world.work())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let failure = String::from_utf8_lossy(&output.stderr);
    assert_eq!(failure, "", "{shown}");
    (output.status.code().unwrap(), shown)
}

#[test]
fn a_person_at_a_terminal_is_asked_and_the_program_goes_on() {
    let mail = Mail::with(ASK);
    mail.world
        .file("program.ts", &format!("console.log('begins'); {PROGRAM}"));
    let (code, shown) = on_terminal(&mail, &["run", "program.ts"], &[("allow?", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    for part in ["mail.send", "anna@example.org", "mail-outside", "true"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let printed = shown.lines().filter(|line| line.trim() == "begins");
    assert_eq!(printed.count(), 1, "{shown}");
    assert_eq!(mail.calls().len(), 1);
    assert_eq!(mail.approvals()[0]["decisions"][0]["channel"], "cli");
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let mail = Mail::with(ASK);
    mail.world.file("program.ts", CATCHING);
    let steps = [
        ("", "y\ny\ny\n"),
        ("allow?", "n\n"),
        ("reason", "not today\n"),
    ];
    let (code, shown) = on_terminal(&mail, &["run", "program.ts"], &steps);
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("denied") && shown.contains("not today"),
        "{shown}"
    );
    assert_eq!(mail.calls(), [] as [Value; 0]);
}

#[test]
fn an_empty_answer_leaves_the_question_open() {
    let mail = Mail::with(ASK);
    mail.world.file("program.ts", PROGRAM);
    let (code, shown) = on_terminal(&mail, &["run", "program.ts"], &[("allow?", "\n")]);
    assert_eq!(code, 3, "{shown}");
    assert_eq!(mail.approvals()[0]["state"], "pending");
    let id = mail.approvals()[0]["execution_id"]
        .as_str()
        .unwrap()
        .to_owned();
    // Later, at the same terminal.
    let (code, shown) = on_terminal(&mail, &["resume", &id], &[("allow?", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn a_person_can_stop_the_program_at_its_question() {
    let mail = Mail::with(ASK);
    mail.world.file("program.ts", CATCHING);
    let (code, shown) = on_terminal(&mail, &["run", "program.ts"], &[("allow?", "s\n")]);
    assert_eq!(code, 1, "{shown}");
    assert_eq!(mail.approvals()[0]["state"], "withdrawn");
    assert_eq!(mail.calls(), [] as [Value; 0]);
}

#[test]
fn a_question_that_is_decided_elsewhere_is_withdrawn_from_the_terminal() {
    let mail = Mail::with(ASK);
    mail.world.file("program.ts", PROGRAM);
    // What the terminal has to type is never written to it: the decision comes from another command.
    let decided = std::thread::scope(|scope| {
        let asked = scope.spawn(|| on_terminal(&mail, &["run", "program.ts"], &[]));
        let limit = Instant::now() + HANG;
        while mail.approvals().is_empty() {
            assert!(Instant::now() < limit, "nothing is asked");
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = mail.approvals()[0]["execution_id"]
            .as_str()
            .unwrap()
            .to_owned();
        mail.resume(&id, ["--approve"]).ends_with(0);
        asked.join().unwrap()
    });
    assert_eq!(decided.0, 0, "{}", decided.1);
    assert!(decided.1.contains("already approved"), "{}", decided.1);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn a_script_on_a_terminal_that_reads_json_is_not_asked() {
    let mail = Mail::with(ASK);
    mail.world.file("program.ts", PROGRAM);
    let (code, shown) = on_terminal(&mail, &["run", "program.ts", "--json"], &[]);
    assert_eq!(code, 3, "{shown}");
    let (code, shown) = on_terminal(&mail, &["run", "program.ts", "--on-ask", "pause"], &[]);
    assert_eq!(code, 3, "{shown}");
    assert!(!shown.contains("allow?"), "{shown}");
}

#[test]
fn a_single_call_is_made_once_the_person_says_yes() {
    let mail = Mail::with(ASK);
    let arguments = r#"{"to":"anna@example.org","amount":9007199254740993}"#;
    let call = ["call", "mail", "send", arguments];
    // A call that was denied is not asked about again for a while, so the two differ.
    let denied = ["call", "mail", "send", r#"{"to":"ben@example.org"}"#];
    let (code, shown) = on_terminal(&mail, &denied, &[("allow?", "n\n"), ("reason", "\n")]);
    assert_eq!(code, 1, "{shown}");
    assert_eq!(mail.calls(), [] as [Value; 0]);
    let (code, shown) = on_terminal(&mail, &call, &[("9007199254740993", ""), ("allow?", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("sent"), "{shown}");
    assert_eq!(
        mail.calls(),
        [json!({"to": "anna@example.org", "amount": 9_007_199_254_740_993_u64})]
    );
}

#[test]
fn a_person_is_asked_on_the_terminal_also_where_standard_error_is_a_file() {
    // No rule and no preset: on a terminal a person is asked before a write.
    let mail = Mail::with("");
    mail.world.file("program.ts", CATCHING);
    let run = format!("{LIMBECK} run program.ts 2>err.log");
    let call = format!("{LIMBECK} call mail send '{{\"to\":\"x\"}}' 2>err.log");
    for line in [&run, &call] {
        let steps = [("allow?", "n\n"), ("reason", "\n")];
        let (_, shown) = command_on_terminal(&mail.world, &["/bin/sh", "-c", line], &steps);
        assert!(shown.contains("allow?"), "{line}: {shown}");
        assert_eq!(mail.calls(), [] as [Value; 0], "{line}: {shown}");
    }
    // The control: the answer that is typed there counts. What was denied stays so for a while, so it is another call.
    mail.world.file(
        "program.ts",
        "return (await tools.mail.send({ to: 'ben@example.org' })).sent",
    );
    let command = ["/bin/sh", "-c", &run];
    let (code, shown) = command_on_terminal(&mail.world, &command, &[("allow?", "y\n")]);
    assert_eq!((code, mail.calls().len()), (0, 1), "{shown}");
}

#[test]
fn what_is_not_shown_whole_is_not_allowed_on_a_terminal() {
    let mail = Mail::with(ASK);
    // A question of many pages: a person who stops reading has not seen what is sent.
    let program = "const o: any = { to: 'x' }; for (let i = 0; i < 400; i++) o['n' + i] = i;
        return (await tools.mail.send(o)).sent";
    mail.world.file("program.ts", program);
    let stops = [
        ("page 1 of", "q\n"),
        ("not all of it was shown. ", "y\n"),
        ("so it cannot be allowed here", ""),
        ("Enter: decide later", "\n"),
    ];
    let (code, shown_first) = on_terminal(&mail, &["run", "program.ts"], &stops);
    assert_eq!((code, mail.calls().len()), (3, 0), "{shown_first}");
    // Nor is one that has no room: its argument has more bytes than a terminal shows.
    mail.world.file(
        "long.ts",
        "return (await tools.mail.send({ to: 'x'.repeat(300000) })).sent",
    );
    let (code, shown) = on_terminal(
        &mail,
        &["run", "long.ts"],
        &[
            ("page 1 of", "q\n"),
            ("not all of it was shown. ", "y\n"),
            ("so it cannot be allowed here", ""),
            ("Enter: decide later", "\n"),
        ],
    );
    assert_eq!((code, mail.calls().len()), (3, 0), "{shown}");
    // The control: read to its end, every argument was on the screen.
    let asked = mail.approvals();
    let short = asked
        .iter()
        .find(|one| one["bytes"].as_u64() < Some(100_000));
    let id = short.unwrap()["execution_id"].as_str().unwrap();
    let pages: Vec<String> = (1..40).map(|page| format!("page {page} of")).collect();
    let (_, rest) = shown_first.split_once("page 1 of ").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let last: usize = digits.parse().unwrap();
    let mut steps: Vec<(&str, &str)> = pages[..last - 1]
        .iter()
        .map(|page| (&**page, "\n"))
        .collect();
    steps.push(("allow?", "y\n"));
    let (code, shown) = on_terminal(&mail, &["resume", id], &steps);
    assert_eq!((code, mail.calls().len()), (0, 1), "{shown}");
    assert!(shown.contains("n399"), "{shown}");
}
