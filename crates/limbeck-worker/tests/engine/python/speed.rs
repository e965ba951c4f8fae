//! speed
use crate::gateway::{Gateway, Run};
use limbeck_wire::domain::{Language, Sandbox};
use limbeck_worker::{Prepared, Worker};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    stat.rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .nth(7)
        .unwrap()
        .parse()
        .unwrap()
}

fn one(run: &Run) -> (Duration, Duration, Duration, u64) {
    let t = Instant::now();
    let prepared = Worker::prepare(run.start.language).unwrap();
    let a = t.elapsed();
    let armed = Prepared::arm(prepared).unwrap();
    let b = t.elapsed() - a;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let worker = std::thread::spawn(move || {
        armed.serve(
            std::os::fd::OwnedFd::from(theirs).into(),
            Sandbox::wasm_only("a test"),
        )
    });
    let f = faults();
    let outcome = Gateway::new(ours).converse(run);
    let f = faults() - f;
    worker.join().unwrap();
    if let Err(fault) = outcome.result() {
        println!("{fault:?} {}", outcome.stderr);
    }
    (a, b, outcome.elapsed, f)
}

#[test]
fn speed() {
    let n = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(1usize)
    };
    let big: String = format!("[{}]", (0..95_000).map(|i| format!(r#"{{"id":{i},"name":"row number {i}","active":{},"score":{}.5,"tags":["a","b","c"],"note":"some text here"}}"#, i % 3 == 0, i % 97)).collect::<Vec<_>>().join(","));
    println!("big {} bytes", big.len());
    let kb = format!("\"{}\"", "x".repeat(1000));
    let js = Run::new("return 1+1");
    let mut v: Vec<_> = (0..10).map(|_| one(&js)).collect();
    v.sort_by_key(|x| x.2);
    println!("js 1+1: {:?}", v[5]);
    for (name, program, big, reps) in [
        ("print", "print(1+1)", "", 40usize),
        (
            "async",
            "import asyncio\nawait asyncio.sleep(0)\nprint(1)",
            "",
            20,
        ),
        (
            "seq",
            "n=0\nfor i in range(1000): n+=len(tools.test.big(i=i))\nn",
            kb.as_str(),
            5,
        ),
        (
            "gather",
            "import asyncio\nr=await asyncio.gather(*[tools.test.big(i=i) for i in range(1000)])\nsum(map(len,r))",
            kb.as_str(),
            5,
        ),
        (
            "big",
            "rows=tools.test.big()\nx=[r for r in rows if r['active'] and r['score']>50]\nlen(x)",
            big.as_str(),
            3,
        ),
        (
            "fib",
            "def fib(n): return n if n<2 else fib(n-1)+fib(n-2)\nfib(27)",
            "",
            3,
        ),
        (
            "sort",
            "import random\nrandom.seed(1)\nx=[random.random() for _ in range(10**6)]\nx.sort()\nx[0]<x[1]",
            "",
            3,
        ),
        (
            "json",
            "import json\nd=[{'id':i,'name':'n%d'%i,'v':[1,2,3.5]} for i in range(50000)]\nfor _ in range(2): d=json.loads(json.dumps(d))\nlen(d)",
            "",
            3,
        ),
        (
            "regex",
            "import re\nt='abc 123 def 4567 foo@bar.com '*20000\nlen(re.findall(r'\\d+',t))+len(re.findall(r'[\\w.]+@[\\w.]+',t))",
            "",
            3,
        ),
        (
            "str",
            "s=[]\nfor i in range(300000): s.append('item %d' % i)\nlen(','.join(s).upper().split(','))",
            "",
            3,
        ),
        (
            "dict",
            "d={}\nfor i in range(500000): d['k%d'%(i%5000)]=d.get('k%d'%(i%5000),0)+i\nlen(d)",
            "",
            3,
        ),
    ] {
        let mut run = Run::python(program);
        run.big = big.to_owned();
        run.start.limits.memory_bytes = 1 << 30;
        run.start.limits.wall_ms = 100_000;
        let mut v: Vec<_> = (0..reps * n("REPS")).map(|_| one(&run)).collect();
        v.sort_by_key(|x| x.2);
        println!(
            "{name:8} prepare {:?} arm {:?} run min {:?} p50 {:?} max {:?} faults {}",
            v[0].0,
            v[0].1,
            v[0].2,
            v[v.len() / 2].2,
            v[v.len() - 1].2,
            v[0].3
        );
    }
    let _ = Language::Python;
}
