internal import AgentCore
package import RoamwardCore

/// Units and profiles of the machine: each runs as soon as it is started, or fails with the reason that is set.
package struct SimulatedServices {
  /// The reasons why services do not start.
  package var obstacles: [ServiceProviderConfiguration.Service: String] = [:]
  /// The reasons why services do not stop.
  package var clinging: [ServiceProviderConfiguration.Service: String] = [:]
  /// The services that run.
  package internal(set) var running: Set<ServiceProviderConfiguration.Service> = []
  /// What was asked for: `start work.service`.
  package internal(set) var orders: [String] = []
  var watchers: [ServiceProviderConfiguration.Service: (ServicePlatform.News) -> Void] = [:]
}

/// A watch of a service.
private final class ServiceWatch {}

extension SimulatedMachine {
  func services(of life: SimulatedLife) -> ServicePlatform {
    programs.services.watchers = [:]
    return ServicePlatform(
      start: { [unowned self] service, news in
        programs.services.orders.append("start \(service.service.name)")
        let watch = ServiceWatch()
        programs.services.watchers[service.service] = { [weak watch] in if watch != nil, !life.isDead { news($0) } }
        soon(life) { [unowned self] in
          guard let obstacle = programs.services.obstacles[service.service] else {
            programs.services.running.insert(service.service)
            programs.services.watchers[service.service]?(.running)
            return
          }
          programs.services.watchers[service.service]?(.ended(reason: obstacle))
        }
        return Cancellation(watch)
      },
      stop: { [weak self] service, done in
        guard let self else { return }
        programs.services.orders.append("stop \(service.service.name)")
        soon(life) { [unowned self] in
          if let reason = programs.services.clinging[service.service] { return done(PlatformError(reason)) }
          programs.services.running.remove(service.service)
          done(nil)
        }
      })
  }

  /// A service ends by itself.
  package func endService(_ service: ServiceProviderConfiguration.Service, reason: String) {
    programs.services.running.remove(service)
    programs.services.watchers[service]?(.ended(reason: reason))
  }
}
