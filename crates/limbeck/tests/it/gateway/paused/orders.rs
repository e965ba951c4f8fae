//! Four questions that are decided in every order, while the program runs and after it was paused: one outcome.
//!
//! `LIMBECK_ORDERS=all` decides in all 24 orders; a few of them otherwise.

use std::time::Duration;

use limbeck_domain::{ApprovalId, Envelope, ExecutionId, ExecutionStatus, JournalEntry, Language};
use limbeck_gateway::{ExecuteRequest, OnAsk};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{Paused, asked_for, request_in};

/// The ways to wait for four calls, with the order in which they have answers where that shows.
const WAYS: [(&str, Language, &str); 6] = [
    (
        "all",
        Language::Typescript,
        "const order: number[] = [];
         const send = async (n: number) => { try { return (await tools.t.send({ n: input + n })).sent - input } finally { order.push(n) } };
         return [await Promise.all([1, 2, 3, 4].map((n) => send(n).catch((e: any) => e.code))), order];",
    ),
    (
        "race",
        Language::Typescript,
        "return await Promise.race([1, 2, 3, 4].map(async (n) => {
           try { return (await tools.t.send({ n: input + n })).sent - input } catch (e: any) { return [e.code, n] }
         }));",
    ),
    (
        "rejecting race",
        Language::Typescript,
        "return await Promise.race([1, 2, 3, 4].map(async (n) => (await tools.t.send({ n: input + n })).sent - input));",
    ),
    (
        "allSettled",
        Language::Typescript,
        "const all = await Promise.allSettled([1, 2, 3, 4].map((n) => tools.t.send({ n: input + n })));
         return all.map((one: any) => [one.status, one.value ? one.value.sent - input : 0, one.reason?.code]);",
    ),
    (
        "gather",
        Language::Python,
        "import asyncio
order = []
async def send(n):
    try:
        return (await tools.t.send(n=input + n))[\"sent\"] - input
    finally:
        order.append(n)
done = await asyncio.gather(*[send(n) for n in (1, 2, 3, 4)], return_exceptions=True)
return [[one if isinstance(one, int) else one.code for one in done], order]",
    ),
    (
        "TaskGroup",
        Language::Python,
        "import asyncio
order = []
async def send(n):
    try:
        order.append((await tools.t.send(n=input + n))[\"sent\"] - input)
    except ToolError as error:
        order.append([n, error.code])
async with asyncio.TaskGroup() as group:
    for n in (1, 2, 3, 4):
        group.create_task(send(n))
return order",
    ),
];
const HAS_ENDED: [ExecutionStatus; 2] = [ExecutionStatus::Completed, ExecutionStatus::Failed];
const PATIENCE: Duration = Duration::from_secs(60);

/// All orders of four.
fn orders() -> Vec<[usize; 4]> {
    let mut orders = Vec::new();
    for a in 0..4 {
        for b in (0..4).filter(|b| *b != a) {
            for c in (0..4).filter(|c| ![a, b].contains(c)) {
                let d = 6 - a - b - c;
                orders.push([a, b, c, d]);
            }
        }
    }
    orders
}

/// What a client sees of an end.
fn shown(envelope: &Envelope) -> (ExecutionStatus, Option<String>, Option<String>) {
    let value = envelope.value.as_ref().map(|value| value.get().to_owned());
    let error = envelope.error.as_ref().map(|error| error.message.clone());
    (envelope.status, value, error)
}

impl Paused {
    /// Decides while the program waits in its worker, and waits after each decision until the program has its result.
    async fn decided_hot(
        &self,
        request: &ExecuteRequest,
        order: [usize; 4],
        denied: usize,
    ) -> Envelope {
        let request = ExecuteRequest {
            on_ask: OnAsk::Wait,
            ..request.clone()
        };
        let running = {
            let gateway = self.gateway.clone();
            tokio::spawn(async move { gateway.execute(request, CancellationToken::new()).await })
        };
        let questions = self.new_questions().await;
        let Some(first) = questions.first() else {
            unreachable!("there are four")
        };
        let id = first.0.clone();
        for at in order {
            self.decide(&questions[at].1, at != denied).await;
            let has_result = async {
                loop {
                    let journal = self.journal(&id).await;
                    let call = questions[at].2;
                    let has = journal.iter().any(|entry| match entry {
                        JournalEntry::Delivered(delivered) => delivered.calls.contains(&call),
                        JournalEntry::Ended { .. } => true,
                        _ => false,
                    });
                    if has {
                        return HAS_ENDED.contains(&self.status(&id).await);
                    }
                    sleep(Duration::from_millis(1)).await;
                }
            };
            if timeout(PATIENCE, has_result).await.expect("a result") {
                break;
            }
        }
        timeout(PATIENCE, running).await.expect("it ends").unwrap()
    }

    /// The four questions that wait, with their executions and calls, once all are asked.
    async fn new_questions(&self) -> Vec<(ExecutionId, ApprovalId, limbeck_domain::CallId)> {
        let asked = async {
            loop {
                let mut waiting = self
                    .gateway
                    .pending_approvals(None, None, true)
                    .await
                    .unwrap();
                if waiting.len() == 4 {
                    waiting.sort_by_key(|approval| approval.call);
                    let parts = waiting.into_iter();
                    return parts
                        .map(|it| (it.execution, it.id, it.call))
                        .collect::<Vec<_>>();
                }
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, asked).await.expect("four questions")
    }

    /// Decides about a program that has no worker, and goes on with it when all is decided.
    async fn decided_cold(
        &self,
        request: ExecuteRequest,
        order: [usize; 4],
        denied: usize,
    ) -> Envelope {
        let id = self.pause(request).await;
        let questions = self.questions(&id, true).await;
        assert_eq!(questions.len(), 4);
        for at in order {
            self.decide(&questions[at], at != denied).await;
        }
        self.resume(&id).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn four_questions_have_one_outcome_in_every_order_for_a_program_that_runs_and_one_that_was_paused()
 {
    let world = Paused::start().await;
    let mut runs = 0;
    let all = asked_for("LIMBECK_ORDERS").is_some_and(|orders| orders == "all");
    for (way, (name, language, program)) in WAYS.into_iter().enumerate() {
        for (number, order) in orders().into_iter().enumerate() {
            // Each way has its own few of the orders.
            if !all && number % 12 != way {
                continue;
            }
            // The first, the last and one between are denied in turn; a denial has its result before any server answers.
            let denied = number % 4;
            let mut request = request_in(language, program);
            // No two runs make the same call.
            let mut next_input = || {
                runs += 1;
                (runs * 10).to_string()
            };
            request.input = next_input();
            let hot = world.decided_hot(&request, order, denied).await;
            request.input = next_input();
            let cold = world.decided_cold(request, order, denied).await;
            assert_eq!(
                shown(&cold),
                shown(&hot),
                "{name}, {order:?}, {denied} denied"
            );
            assert_ne!(hot.status, ExecutionStatus::Paused);
        }
    }
}
