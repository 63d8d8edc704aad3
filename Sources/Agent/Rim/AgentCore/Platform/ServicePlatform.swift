package import RoamwardCore

/// Services of this machine that are tunnels by themselves: units of systemd, profiles of NetworkManager.
package struct ServicePlatform {
  package enum News: Equatable, Sendable {
    /// Sockets of its control group are marked. It starts when this call has returned: by then the firewall has to know the group.
    case marked
    /// It is up.
    case running
    /// It did not start, or has ended by itself.
    case ended(reason: String)
  }

  /// The firewall mark for the sockets of a tunnel's service.
  package struct Marking: Equatable, Sendable {
    package var tunnel: String
    /// The firewall mark of its underlay.
    package var mark: UInt32
    /// Whether it must not run without: it would be blocked by its kill switch, or leave outside of its outer tunnel.
    package var isRequired: Bool
    /// Whether the last agent has left it running: it goes on, if its sockets are marked.
    package var isTakenOver: Bool
  }

  /// Starts a tunnel's service, and watches it until the value is released.
  package var start: (ServiceProviderConfiguration, Marking, @escaping (News) -> Void) -> Cancellation?
  /// Stops the service of this tunnel; calls back when it has stopped, or with the reason why it does not.
  package var stop: (ServiceProviderConfiguration, String, @escaping (PlatformError?) -> Void) -> Void

  package init(
    start: @escaping (ServiceProviderConfiguration, Marking, @escaping (News) -> Void) -> Cancellation?,
    stop: @escaping (ServiceProviderConfiguration, String, @escaping (PlatformError?) -> Void) -> Void
  ) {
    self.start = start
    self.stop = stop
  }

  /// No service starts.
  package static var unsupported: ServicePlatform {
    ServicePlatform(
      start: { _, _, news in
        news(.ended(reason: "this platform has no services"))
        return nil
      }, stop: { _, _, done in done(nil) })
  }
}
