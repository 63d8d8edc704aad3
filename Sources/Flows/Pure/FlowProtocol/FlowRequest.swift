package import NetworkTypes

/// A flow that a client asks a proxy for.
package enum FlowRequest: Hashable, Sendable {
  /// A TCP connection.
  case stream(Endpoint)
  /// UDP ASSOCIATE. `port`: the client's, which its datagrams come from; `nil`: it does not say.
  case datagrams(port: UInt16?)
}

/// Addresses that a proxy connects to for nobody: services of this machine trust their loopback clients, who may be elsewhere here.
package func isForbidden(_ address: IPAddress) -> Bool {
  let plain = address.mapped ?? address
  return plain.isLoopback || plain.isMulticast || plain == .unspecified(plain.family)
    || plain.family == .v4 && (plain.low >> 24 == 0 || plain.low == 0xffff_ffff)
}
