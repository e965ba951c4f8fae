//! `cargo xtask attacks`: programs that try to get out, run against the real executable.
//!
//! Every file of `attacks/` is one program, and its first lines are a header with the expected outcome; see
//! `attacks/README.md`. It runs under a real gateway with two real upstreams, the sample server and
//! the [`upstream`] of this module, in an environment that holds canaries: texts in a variable, in
//! files and in the settings of a server, which no program can know and no output may contain.
//!
//! The checks of each attack:
//! - it ends exactly as its header says, at most one second after its time limit;
//! - no output contains a canary, a path of the host or a position in Limbeck's sources;
//! - the answer has the fields of an answer and no others, regardless of what the program returned;
//! - directly afterwards an ordinary program of its language works in the same gateway.
//!
//! A *control* is a program that shows that its group detects a success: it does openly what the attacks of the group
//! try to do. Start reading at [`run`].

mod corpus;
mod judge;
mod session;
pub(crate) mod upstream;
mod world;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use corpus::{Attack, Role, Step};
use session::Session;
use world::World;

/// Attacks at the same time. Each has a gateway of its own; times are checked, so no more than there
/// are processors on the smallest machine of CI.
const LANES: usize = 2;
/// Fewer attacks than this means that files were lost, not that there was less to try.
const ATTACKS_MIN: usize = 400;

/// Which attacks, against what.
#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// Only those whose path contains S
    #[arg(long, value_name = "S")]
    filter: Option<String>,
    /// Executable to attack instead of target/release/limbeck
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Result of one attack: its differences from the header, none when it was held.
struct Verdict {
    path: String,
    group: String,
    role: Role,
    differences: Vec<String>,
}

/// Runs the corpus and prints a line for each group.
///
/// # Errors
///
/// When an attack or control differs from its header; each is printed with all differences.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let world = World::new(root, args.binary.as_deref())?;
    let mut attacks = corpus::load(&root.join("attacks"), &world.facts)?;
    let tries = |attack: &&Attack| attack.role == Role::Attack;
    let count = attacks.iter().filter(tries).count();
    ensure!(
        count >= ATTACKS_MIN,
        "the corpus has {count} attacks, at least {ATTACKS_MIN} are expected"
    );
    if let Some(part) = &args.filter {
        attacks.retain(|attack| attack.path.contains(part.as_str()));
        ensure!(!attacks.is_empty(), "no attack has {part:?} in its path");
    }
    let groups = attacks.iter().map(|attack| attack.group.clone()).collect();
    let verdicts = run_all(attacks, &world)?;
    report(groups, &verdicts)?;
    eprintln!("attacked for {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Runs every attack. The lanes take them from one queue.
fn run_all(attacks: Vec<Attack>, world: &World) -> anyhow::Result<Vec<Verdict>> {
    let queue = Mutex::new(VecDeque::from(attacks));
    let lanes = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|number| {
                let queue = &queue;
                scope.spawn(move || lane(number, queue, world))
            })
            .collect();
        lanes
            .into_iter()
            .map(|lane| lane.join().expect("a lane does not panic"))
            .collect::<Vec<_>>()
    });
    let mut verdicts = Vec::new();
    for lane in lanes {
        verdicts.extend(lane?);
    }
    verdicts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(verdicts)
}

/// Attacks one gateway until the queue is empty. A gateway that no longer answers is replaced.
fn lane(
    number: usize,
    queue: &Mutex<VecDeque<Attack>>,
    world: &World,
) -> anyhow::Result<Vec<Verdict>> {
    let mut session = world.session(number)?;
    let mut verdicts = Vec::new();
    loop {
        let next = queue
            .lock()
            .expect("a lane does not panic holding the queue")
            .pop_front();
        let Some(attack) = next else {
            break;
        };
        let language = attack.steps[0].language;
        let mut differences = try_attack(&attack, &mut session, world);
        if let Err(error) = session.works(language, world) {
            differences.push(format!("afterwards the gateway is broken: {error:#}"));
            session = world.session(number)?;
        }
        verdicts.push(Verdict {
            path: attack.path,
            group: attack.group,
            role: attack.role,
            differences,
        });
    }
    let leaks = session.close(world)?;
    if !leaks.is_empty() {
        bail!("the log of gateway {number} contains {}", leaks.join(", "));
    }
    Ok(verdicts)
}

/// Runs all steps of one attack and returns the differences from its header.
fn try_attack(attack: &Attack, session: &mut Session, world: &World) -> Vec<String> {
    let outcomes = match attack.order {
        corpus::Order::InTurn => attack
            .steps
            .iter()
            .map(|step| run_step(step, session, world))
            .collect(),
        corpus::Order::Together => session.execute_together(&attack.steps),
    };
    let mut differences = Vec::new();
    for (step, outcome) in attack.steps.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => differences.extend(judge::differences(step, &outcome, &world.facts)),
            Err(error) => differences.push(format!("no answer: {error:#}")),
        }
    }
    differences
}

fn run_step(step: &Step, session: &mut Session, world: &World) -> anyhow::Result<session::Outcome> {
    match step.via {
        corpus::Via::Serve => session.execute(step),
        corpus::Via::Run => world.run(step),
    }
}

/// Prints `held N of N` for each group and fails when anything differs.
fn report(groups: Vec<String>, verdicts: &[Verdict]) -> anyhow::Result<()> {
    let mut table: BTreeMap<String, [usize; 4]> =
        groups.into_iter().map(|group| (group, [0; 4])).collect();
    for verdict in verdicts {
        let row = table.entry(verdict.group.clone()).or_default();
        let (good, all) = match verdict.role {
            Role::Attack => (0, 1),
            Role::Control => (2, 3),
        };
        row[all] += 1;
        row[good] += usize::from(verdict.differences.is_empty());
    }
    for verdict in verdicts {
        for difference in &verdict.differences {
            eprintln!("attacks/{}: {difference}", verdict.path);
        }
    }
    let mut sum = [0; 4];
    for (group, row) in &table {
        print_row(group, *row);
        for (total, part) in sum.iter_mut().zip(row) {
            *total += part;
        }
    }
    print_row("all", sum);
    let failed = sum[1] - sum[0] + sum[3] - sum[2];
    ensure!(failed == 0, "{failed} programs did not end as expected");
    ensure!(
        verdicts.len() == sum[1] + sum[3],
        "some attacks were not run"
    );
    Ok(())
}

fn print_row(name: &str, [held, attacks, seen, controls]: [usize; 4]) {
    eprintln!(
        "{name:<16} held {held:>3} of {attacks:>3}   controls seen {seen:>2} of {controls:>2}"
    );
}

/// Reads a file of the corpus; the error names it.
fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}
