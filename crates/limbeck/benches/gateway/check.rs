//! Time of the check that judges a program's calls before it runs.

use std::time::{Duration, Instant};

use limbeck_captures::captures;
use limbeck_catalog::{Catalog, CheckOptions, ServerTools};
use limbeck_domain::{Language, Mode};
use limbeck_gateway::Gateway;
use limbeck_launcher::PoolSize;
use limbeck_testkit::{FakeServer, World, python_request, request};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::report::{Report, median, percentile_90, sampled, shown};
use crate::{LIMBECK, runtime, wait_for_pool};

/// Functions of the program that is checked, ten lines each.
const CHECKED_FUNCTIONS: usize = 19;

/// A program of 200 lines with 57 calls, and one of a single call.
fn checked_programs(language: Language) -> (String, String) {
    let mut lines = vec![
        match language {
            Language::Typescript => "interface Entity { name: string; observations: string[] }",
            Language::Python => "import asyncio",
        }
        .to_owned(),
    ];
    for n in 0..CHECKED_FUNCTIONS {
        let function = match language {
            Language::Typescript => TYPESCRIPT_FUNCTION,
            Language::Python => PYTHON_FUNCTION,
        };
        lines.extend(
            function
                .lines()
                .map(|line| line.replace("NUMBER", &n.to_string())),
        );
    }
    let (opens, closes, call) = match language {
        Language::Typescript => (
            "const all = await Promise.all([",
            "]);\nreturn all.flat().length;",
            "await tools.memory.search_nodes({ query: \"a\" })",
        ),
        Language::Python => (
            "found = await asyncio.gather(",
            ")\nreturn sum(len(names) for names in found)",
            "await tools.memory.search_nodes(query=\"a\")",
        ),
    };
    lines.push(opens.to_owned());
    lines.extend((0..6).map(|n| format!("    report{n}(\"octo\"),")));
    lines.extend(closes.lines().map(str::to_owned));
    assert_eq!(lines.len(), 200);
    (lines.join("\n"), call.to_owned())
}

const TYPESCRIPT_FUNCTION: &str = r#"async function reportNUMBER(owner: string): Promise<string[]> {
  const found = await tools.memory.search_nodes({ query: "topic NUMBER" });
  const names = found.entities.map((entity: Entity) => entity.name);
  const pages = await Promise.all(
    names.map((name) => tools.filesystem.read_text_file({ path: `notes/${name}.md`, head: 20 })),
  );
  const issues: any = await tools.github.list_issues({ owner, repo: "site", perPage: 50 });
  console.log(owner, pages.length, issues);
  return names;
}"#;

const PYTHON_FUNCTION: &str = r#"async def reportNUMBER(owner):
    found = await tools.memory.search_nodes(query="topic NUMBER")
    names = [entity["name"] for entity in found["entities"]]
    pages = await asyncio.gather(
        *[tools.filesystem.read_text_file(path=f"notes/{name}.md", head=20) for name in names],
    )
    issues = await tools.github.list_issues(owner=owner, repo="site", perPage=50)
    print(owner, len(pages), issues)
    return names

"#;

const LANGUAGES: [(&str, Language); 2] = [
    ("TypeScript", Language::Typescript),
    ("Python", Language::Python),
];

/// Time to check a program before it runs, with the tools of every captured server.
pub(crate) fn check(report: &mut Report) {
    let promise = Some(Duration::from_millis(2));
    let captures = captures();
    let servers = captures.iter();
    let servers = servers.map(|one| ServerTools::new(one.name(), one.definitions(), None));
    let catalog = Catalog::new(servers.collect());
    let tools = catalog.tools().count();
    for (name, language) in LANGUAGES {
        let (program, _) = checked_programs(language);
        let caller = CheckOptions {
            language,
            mode: Mode::Run,
            refuses: &|_| None,
        };
        let samples = sampled(200, || {
            let started = Instant::now();
            let sites = limbeck_analysis::call_sites(language, &program);
            let sites = sites.expect("the program can be read");
            let findings = catalog.check(&sites, &caller);
            let took = started.elapsed();
            assert_eq!((sites.sites.len(), findings.errors), (57, Vec::new()));
            took
        });
        report.time(
            &format!("check: 200 lines of {name} read and judged"),
            &samples,
            promise,
            format!("p90 {}; {tools} tools", shown(percentile_90(&samples))),
        );
    }

    let runtime = runtime();
    let mut world = World::new(LIMBECK).pool(PoolSize {
        ready: 8,
        starting: 2,
    });
    for capture in &captures {
        world = world.server(&FakeServer::captured(capture).share());
    }
    let gateway = runtime.block_on(world.start());
    for (name, language) in LANGUAGES {
        let (program, one_call) = checked_programs(language);
        let examine = |program: &str| {
            wait_for_pool(&runtime);
            examined(&runtime, &gateway, language, program)
        };
        // The first makes the gateway list the servers.
        examine(&program);
        let least = median(&sampled(200, || examine(&one_call)));
        let samples = sampled(200, || examine(&program));
        let beyond = median(&samples).saturating_sub(least);
        report.time(
            &format!("check: 200 lines of {name} examined by a worker"),
            &samples,
            None,
            format!(
                "p90 {}; {} beyond one call",
                shown(percentile_90(&samples)),
                shown(beyond)
            ),
        );
    }
    runtime.block_on(gateway.shutdown());
}

fn examined(runtime: &Runtime, gateway: &Gateway, language: Language, program: &str) -> Duration {
    let request = match language {
        Language::Typescript => request(program),
        Language::Python => python_request(program),
    };
    let cancel = CancellationToken::new();
    let started = Instant::now();
    let examined = runtime.block_on(gateway.examine(request, Mode::Check, &cancel));
    let took = started.elapsed();
    let examined = examined.expect("a worker reads the program");
    assert!(examined.ok, "{:?}", examined.findings);
    took
}
