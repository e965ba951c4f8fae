//! scratch
use crate::gateway::Run;
#[test]
fn scratch() {
    let text = std::fs::read_to_string("/tmp/P1/progs.txt").unwrap();
    for p in text.split("### ").skip(1) {
        let t = std::time::Instant::now();
        let o = Run::python(p).limits(|l| l.wall_ms = 20000).go();
        println!(
            "{p}   -> {:?} in {:?} all {:?} out {:?} err {:?} mem {:?}\n",
            o.done.as_ref().map(|d| &d.result),
            o.elapsed,
            t.elapsed(),
            o.stdout.chars().take(600).collect::<String>(),
            o.stderr.chars().take(600).collect::<String>(),
            o.done.as_ref().map(|d| d.memory_bytes >> 20)
        );
    }
}
