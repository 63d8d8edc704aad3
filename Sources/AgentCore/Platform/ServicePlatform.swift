package import RoamwardCore

/// Services of this machine that are tunnels by themselves: units of systemd, profiles of NetworkManager.
package struct ServicePlatform {
  package enum News: Equatable, Sendable {
    /// It is up.
    case running
    /// It did not start, or has ended by itself.
    case ended(reason: String)
  }

  /// Starts a tunnel's service, and watches it until the value is released.
  package var start: (ServiceProviderConfiguration, @escaping (News) -> Void) -> Cancellation?
  /// Stops it; calls back when it has stopped, or with the reason why it does not.
  package var stop: (ServiceProviderConfiguration, @escaping (PlatformError?) -> Void) -> Void

  package init(
    start: @escaping (ServiceProviderConfiguration, @escaping (News) -> Void) -> Cancellation?,
    stop: @escaping (ServiceProviderConfiguration, @escaping (PlatformError?) -> Void) -> Void
  ) {
    self.start = start
    self.stop = stop
  }

  /// No service starts.
  package static var unsupported: ServicePlatform {
    ServicePlatform(
      start: { _, news in
        news(.ended(reason: "this platform has no services"))
        return nil
      }, stop: { _, done in done(nil) })
  }
}
