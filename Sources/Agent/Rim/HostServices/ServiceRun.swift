internal import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// A service that is a tunnel, as its manager tells of it by D-Bus. One connection to the bus for each; it ends with the value.
package protocol ServiceRun: AnyObject {
  /// Starts it, unless it runs, and tells its states from then on.
  func start(_ news: @escaping (ServiceNews) -> Void)
  /// Stops it, and calls back once, with the reason if it does not stop.
  func stop(_ done: @escaping (String?) -> Void)
}

package enum ServiceNews: Equatable, Sendable {
  /// The unit's slice is marked; it starts when this call has returned.
  case marked
  case running
  case ended(reason: String)
}

extension ServiceProviderConfiguration {
  /// `slice`: where a unit runs; `nil`: in its own. `busAddress`: as in the D-Bus specification; `nil`: the system's bus. `tailscale`: the
  /// socket of tailscaled; `nil`: the usual one. `dropIns`: the folder for those of units.
  package func run(
    on loop: EventLoop, in slice: UnitSlice? = nil, busAddress: String? = nil, tailscale: String? = nil,
    dropIns: String = UnitDropIn.folder
  ) -> any ServiceRun {
    switch service {
    case .unit(let name):
      UnitRun(
        name, in: slice.map { ($0, UnitDropIn(name, in: dropIns)) }, on: loop, busAddress: busAddress)
    case .profile(let name): ProfileRun(name, on: loop, busAddress: busAddress)
    case .tailscale(let exitNode): TailscaleRun(exitNode, on: loop, path: tailscale ?? TailscaleRun.socket)
    }
  }
}

/// Calls to one service of the bus, whose errors end a run.
final class ServiceCalls {
  /// A manager is asked to begin something; the work itself is told by signals.
  private static let patience = Duration.seconds(10)

  let bus: SystemBus
  private let service: String
  /// Called with an error that no caller handles.
  var failed: (String) -> Void = { _ in }

  init(_ service: String, on loop: EventLoop, busAddress: String?) {
    self.service = service
    bus = SystemBus(on: loop, address: busAddress)
  }

  func call(
    _ path: String, _ interface: String, _ method: String, _ arguments: [BusArgument] = [], within limit: Duration = patience,
    orElse refused: ((BusError) -> Void)? = nil, then: @escaping ([BusValue]) -> Void
  ) {
    bus.call(service, path, "\(service)\(interface)", method, arguments, within: limit) { [weak self] result in
      switch result {
      case .success(let values): then(values)
      case .failure(let error):
        if let refused { refused(error) } else { self?.failed(error.isAbsence ? "\(self?.service ?? "") does not run" : "\(error)") }
      }
    }
  }

  /// A property. Without the object, `nil`.
  func get(_ path: String, _ interface: String, _ property: String, then: @escaping (BusValue?) -> Void) {
    bus.call(
      service, path, "org.freedesktop.DBus.Properties", "Get", [.string("\(service)\(interface)"), .string(property)],
      within: Self.patience
    ) { result in
      if case .success(let values) = result { then(values.first) } else { then(nil) }
    }
  }

  func match(_ path: String, _ interface: String, _ member: String, then: @escaping ([BusValue]) -> Void) {
    bus.match("type='signal',sender='\(service)',path='\(path)',interface='\(interface)',member='\(member)'", then)
  }
}
