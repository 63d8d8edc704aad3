internal import AgentCore
internal import KernelModel
package import RoamwardCore

/// Units and profiles of the machine: each runs as soon as it is started, or fails with the reason that is set. Units have a marked slice.
package struct SimulatedServices {
  /// The reasons why services do not start.
  package var obstacles: [ServiceProviderConfiguration.Service: String] = [:]
  /// The reasons why services do not stop.
  package var clinging: [ServiceProviderConfiguration.Service: String] = [:]
  /// The reason why sockets cannot be marked; `nil`: they can.
  package var markObstacle: String?
  /// The services that run.
  package internal(set) var running: Set<ServiceProviderConfiguration.Service> = []
  /// The requests to service managers, such as `start work.service`.
  package internal(set) var orders: [String] = []
  /// The marks of slices, and the units of drop-ins, by tunnels.
  package internal(set) var slices: [String: UInt32] = [:]
  package internal(set) var dropIns: [String: String] = [:]
  /// The marks that units have run with, by their names.
  package internal(set) var marks: [String: UInt32] = [:]
  /// Units that have started while the kill switch did not know their group.
  package internal(set) var unknownToFirewall: [String] = []
  var numbers: [String: UInt64] = [:]
  var watchers: [ServiceProviderConfiguration.Service: (ServicePlatform.News) -> Void] = [:]

  /// Those of the slices.
  var groups: [ProviderGroup] {
    slices.keys.sorted().compactMap { tunnel in numbers[tunnel].map { ProviderGroup(number: $0, level: 1) } }
  }
}

/// A watch of a service.
private final class ServiceWatch {}

extension SimulatedMachine {
  func services(of life: SimulatedLife) -> ServicePlatform {
    programs.services.watchers = [:]
    return ServicePlatform(
      start: { [unowned self] service, marking, news in
        programs.services.orders.append("start \(service.service.name)")
        let watch = ServiceWatch()
        programs.services.watchers[service.service] = { [weak watch] in if watch != nil, !life.isDead { news($0) } }
        soon(life) { [unowned self, weak watch] in
          if service.hasGroup {
            if let reason = programs.services.markObstacle, marking.isRequired {
              programs.services.watchers[service.service]?(.ended(reason: reason))
              return
            } else if programs.services.markObstacle == nil {
              enterSlice(service, marking, life)
              guard watch != nil, !life.isDead else { return }
            }
          }
          guard let obstacle = programs.services.obstacles[service.service] else {
            pass("start \(service.service.name)", by: life) { start(service, marking.tunnel) }
            programs.services.watchers[service.service]?(.running)
            return
          }
          programs.services.watchers[service.service]?(.ended(reason: obstacle))
        }
        return Cancellation(watch)
      },
      stop: { [weak self] service, tunnel, done in
        guard let self else { return }
        programs.services.orders.append("stop \(service.service.name)")
        soon(life) { [unowned self] in
          if let reason = programs.services.clinging[service.service] { return done(PlatformError(reason)) }
          end(service, tunnel, by: life)
          if !life.isDead { done(nil) }
        }
      })
  }

  private func enterSlice(_ service: ServiceProviderConfiguration, _ marking: ServicePlatform.Marking, _ life: SimulatedLife) {
    pass("mark the slice of \(marking.tunnel)", by: life) {
      if programs.services.slices[marking.tunnel] == nil { programs.services.numbers[marking.tunnel] = UInt64(log.places.count + 1000) }
      programs.services.slices[marking.tunnel] = marking.mark
      showGroups()
    }
    programs.services.watchers[service.service]?(.marked)
    pass("write the drop-in of \(marking.tunnel)", by: life) { programs.services.dropIns[marking.tunnel] = service.service.name }
  }

  private func start(_ service: ServiceProviderConfiguration, _ tunnel: String) {
    programs.services.running.insert(service.service)
    if let link = service.interface, state.observed.kernel.link(named: link) == nil {
      state.apply([.addTUNLink(link, user: "root"), .setUp(link: link)])
    }
    guard service.hasGroup, programs.services.dropIns[tunnel] == service.service.name else { return }
    programs.services.marks[service.service.name] = programs.services.slices[tunnel]
    let table = log.applied.lazy.reversed().compactMap { if case .replaceFirewall(let table) = $0 { table } else { nil } }.first
    if let table, !table.guards.isEmpty, !table.providers.contains(where: { $0.number == self.programs.services.numbers[tunnel] }) {
      programs.services.unknownToFirewall.append(service.service.name)
    }
  }

  /// Stops a service, and removes what made it this tunnel.
  func end(_ service: ServiceProviderConfiguration, _ tunnel: String, by life: SimulatedLife) {
    pass("stop \(service.service.name)", by: life) {
      programs.services.running.remove(service.service)
      if let link = service.interface, state.observed.kernel.link(named: link) != nil { state.apply([.deleteLink(link, .userspace)]) }
      programs.services.marks[service.service.name] = nil
    }
    guard service.hasGroup else { return }
    pass("remove the drop-in of \(tunnel)", by: life) { programs.services.dropIns[tunnel] = nil }
    pass("stop the slice of \(tunnel)", by: life) {
      programs.services.slices[tunnel] = nil
      showGroups()
    }
  }

  private func showGroups() {
    let groups = programs.services.groups
    state.show(groups.isEmpty ? .unexamined : .ready(ProviderGroup(number: 1, level: 3), units: groups))
  }

  /// A service ends by itself.
  package func endService(_ service: ServiceProviderConfiguration.Service, reason: String) {
    programs.services.running.remove(service)
    programs.services.watchers[service]?(.ended(reason: reason))
  }
}
