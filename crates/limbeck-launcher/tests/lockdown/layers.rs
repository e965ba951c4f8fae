//! Layer by layer: what each is worth alone, and that none can go missing unseen.

use limbeck_domain::{Language, Layer, Sandbox, Tier};
use limbeck_launcher::WorkerError;

use crate::{all_but, launcher, probes, reached};

/// Attempts that a kernel or a processor may refuse to every process, so that the control proves nothing.
const NOT_EVERYWHERE: &[&str] = &[
    "another_abi",
    "io_uring",
    "user_faults",
    "keys",
    "speculation",
];

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

async fn sandbox(without: &[Layer]) -> Sandbox {
    let launcher = launcher(without, Tier::Wasm);
    let worker = launcher.launch(Language::Typescript).await.unwrap();
    let sandbox = worker.sandbox().clone();
    worker.kill().await;
    launcher.shutdown().await;
    sandbox
}

/// Layers this machine cannot put up although nothing is left out.
async fn not_on_this_machine() -> Vec<Layer> {
    let missing = sandbox(&[]).await.missing;
    missing.into_iter().map(|missing| missing.layer).collect()
}

#[tokio::test]
async fn a_worker_that_somebody_owns_reaches_nothing() {
    assert_eq!(sandbox(&[]).await.tier, Tier::Strict);
    let through: Vec<_> = probes(&[]).await.into_iter().filter(reached).collect();
    assert!(through.is_empty(), "{through:#?}");
}

#[tokio::test]
async fn without_any_layer_every_attempt_succeeds() {
    let refused: Vec<_> = probes(Layer::ALL)
        .await
        .into_iter()
        .filter(|report| !reached(report) && !NOT_EVERYWHERE.contains(&report.name))
        .collect();
    if is_root() {
        assert!(refused.is_empty(), "{refused:#?}");
    } else {
        // The rest an ordinary user may not do anyway.
        let names: Vec<_> = refused.iter().map(|report| report.name).collect();
        let privileged = ["become_root", "change_root", "new_namespace", "lock_memory"];
        assert!(
            names.iter().all(|name| privileged.contains(name)),
            "{refused:#?}"
        );
    }
}

#[tokio::test]
async fn each_layer_alone_denies_what_it_is_there_for() {
    let absent = not_on_this_machine().await;
    for layer in Layer::ALL.iter().filter(|layer| !absent.contains(layer)) {
        let keep = match layer {
            // Root's own are not counted, and a capability lifts the rest.
            Layer::ResourceLimits => vec![*layer, Layer::UnprivilegedUser, Layer::Capabilities],
            _ => vec![*layer],
        };
        for report in probes(&all_but(&keep)).await {
            if report.layers.contains(layer) {
                assert!(!reached(&report), "{layer} alone lets through {report:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_layer_that_is_left_out_is_reported_and_what_strict_needs_is_refused() {
    let absent = not_on_this_machine().await;
    for layer in Layer::ALL.iter().filter(|layer| !absent.contains(layer)) {
        let mut without = vec![*layer];
        match layer {
            // Both switch it on themselves.
            Layer::NoNewPrivileges => without.extend([Layer::Landlock, Layer::Seccomp]),
            // Changing the user does it as well.
            Layer::NotDumpable if is_root() => without.push(Layer::UnprivilegedUser),
            // An ordinary user has nothing to change.
            Layer::UnprivilegedUser if !is_root() => continue,
            _ => {}
        }
        let found = sandbox(&without).await;
        let missing: Vec<_> = found.missing.iter().map(|missing| missing.layer).collect();
        let mut expected = [without.clone(), absent.clone()].concat();
        expected.sort_unstable();
        assert_eq!(missing, expected, "without {layer}");
        let launcher = launcher(&without, Tier::Strict);
        match launcher.launch(Language::Typescript).await {
            Ok(_) => assert!(!layer.required(), "a worker without {layer} was used"),
            Err(WorkerError::Tier { sandbox, .. }) => {
                assert!(layer.required() && sandbox.tier == Tier::Wasm, "{layer}");
            }
            Err(error) => panic!("without {layer}: {error}"),
        }
        launcher.shutdown().await;
    }
}
