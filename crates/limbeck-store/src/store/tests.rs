//! The queues in front of the writer and of the reading connection, as several principals use them.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;

use limbeck_domain::ArtifactId;
use tokio::task::JoinSet;

use super::*;
use crate::journal_room::QUEUE_BYTES_EACH;
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

#[tokio::test]
async fn many_reads_of_one_principal_delay_a_read_of_another_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    // The thread that reads waits, so that reads queue up.
    let (go_on, wait) = mpsc::channel::<()>();
    let blocking = Box::new(move |_: &Connection| {
        let _ = wait.recv();
    });
    let reader = store.inner.reader.as_ref().unwrap();
    reader.send(None, blocking).unwrap();
    let done = Arc::new(Mutex::new(Vec::new()));
    let begin = |principal: &'static str| {
        let done = Arc::clone(&done);
        Box::pin(store.query_of(principal, move |_| {
            done.lock().unwrap().push(principal);
            Ok(())
        }))
    };
    let mut reads: Vec<_> = (0..100).map(|_| begin("alice")).collect();
    reads.push(begin("bob"));
    for read in &mut reads {
        // The first poll queues the read.
        let is_done = poll_fn(|context| Poll::Ready(read.as_mut().poll(context).is_ready()));
        assert!(!is_done.await);
    }
    drop(go_on);
    for read in reads {
        read.await.unwrap();
    }
    let done = done.lock().unwrap();
    assert_eq!(done.iter().position(|it| *it == "bob"), Some(1));
    // The control: none of the others is lost.
    assert_eq!(done.len(), 101);
}
