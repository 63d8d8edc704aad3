import AgentCore
import HostDNS
import KernelModel
import RoamwardCore

/// What an observation reads of the kernel, the resolver's files and the network.
struct ObservationParts {
  let request: ObservationRequest
  let kernel: KernelState
  let files: ResolverReading
  let underlay: SnapshotWithSources
}
