import AgentCore
import HostDNS
import KernelModel
import RoamwardCore

/// The parts that an observation reads of the kernel, the resolver's files and the network.
struct ObservationParts {
  let request: ObservationRequest
  let kernel: KernelState
  let files: ResolverReading
  let underlay: SnapshotWithSources
}

/// The observation that follows steps, as far as it is known before it is made.
struct ObservationAhead {
  /// The request of the last observation: the next one usually has the same.
  private var lastRequest: ObservationRequest?
  /// The parts that were read while an engine took its configuration.
  var parts: ObservationParts?
  /// The devices that the last steps have made call their peers.
  var calling = CallingDevices()

  /// The request of the observation that will follow steps; `nil`: there was none yet.
  var request: ObservationRequest? {
    var request = lastRequest
    request?.followsSteps = true
    return request
  }

  /// Other steps come first: what was read is outdated.
  mutating func stepsFollow() { (parts, calling) = (nil, CallingDevices()) }

  /// Returns what was read for this request, once.
  mutating func take(_ request: ObservationRequest) -> ObservationParts? {
    defer { (parts, lastRequest) = (nil, request) }
    return parts.map { $0.request.readsSameParts(as: request) } ?? false ? parts : nil
  }
}

extension ObservationRequest {
  /// Whether both read the same of the kernel, the files and the network. The firewall and the resolver's programs are read apart.
  fileprivate func readsSameParts(as other: ObservationRequest) -> Bool {
    var same = other
    (same.firewall, same.nameCapture, same.resolverLinks) = (firewall, nameCapture, resolverLinks)
    return self == same
  }
}
