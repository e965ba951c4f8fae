//! Gateway for tests and benchmarks: servers inside of this process, a store in memory or in a file, and real worker
//! processes.
//!
//! Start reading at [`World`].

#![forbid(unsafe_code)]

mod embedding_endpoint;
mod fake_server;
pub mod http_load;
mod model_endpoint;
mod programs;
mod world;

pub use embedding_endpoint::{EmbeddingEndpoint, EndpointBehaviour, EndpointRequest};
pub use fake_server::{FakeServer, SilentServer};
pub use model_endpoint::{ModelBehaviour, ModelEndpoint, ModelEndpointRequest};
pub use programs::{python_request, request, run, run_python, value_of};
pub use world::World;
