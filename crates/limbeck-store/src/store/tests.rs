//! The queue in front of the writer, as several principals use it.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use limbeck_domain::ArtifactId;
use tokio::task::JoinSet;

use super::*;
use crate::records::NewArtifact;

const MIB: usize = 1 << 20;

fn artifact(number: u8) -> NewArtifact {
    NewArtifact {
        id: ArtifactId::parse(&format!("art_{number:032x}")).unwrap(),
        media_type: "text/plain".to_owned(),
        name: None,
        content: vec![number; MIB],
        created_us: 1,
        expires_us: 1_000,
    }
}

#[tokio::test]
async fn large_writes_of_one_principal_leave_most_of_the_queue_to_others() {
    let store = Store::in_memory().unwrap();
    // The writer waits, so that nothing leaves the queue.
    let (go_on, wait) = mpsc::channel::<()>();
    let blocking = Message::Query(Box::new(move |_| {
        let _ = wait.recv();
    }));
    store.send(blocking).unwrap();
    let mut saving = JoinSet::new();
    for number in 0..100 {
        let store = store.clone();
        saving.spawn(async move { store.keep_artifact("alice", artifact(number)).await });
    }
    let space = &store.inner.queue_space;
    let free = || space.available_permits();
    // Every task has asked: the runtime has one thread, and its queue is served in order.
    while free() > QUEUE_BYTES_MAX as usize - 7 * MIB {
        tokio::task::yield_now().await;
    }
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(
        free() >= (QUEUE_BYTES_MAX - QUEUE_BYTES_EACH) as usize,
        "{}",
        free()
    );
    // Another principal's write is queued at once.
    let mut other = pin!(store.keep_artifact("bob", artifact(200)));
    let is_done = poll_fn(|context| Poll::Ready(other.as_mut().poll(context).is_ready()));
    assert!(!is_done.await);
    assert!(
        free() < (QUEUE_BYTES_MAX - QUEUE_BYTES_EACH) as usize,
        "{}",
        free()
    );

    // The control: all are written when the writer goes on, one that exceeds the principal's share too.
    drop(go_on);
    other.await.unwrap();
    while let Some(saved) = saving.join_next().await {
        saved.unwrap().unwrap();
    }
    let larger = NewArtifact {
        content: vec![1; 2 * QUEUE_BYTES_EACH as usize],
        ..artifact(201)
    };
    store.keep_artifact("alice", larger).await.unwrap();
    // The writer gives the space back behind its answer.
    while free() < QUEUE_BYTES_MAX as usize {
        tokio::task::yield_now().await;
    }
}
