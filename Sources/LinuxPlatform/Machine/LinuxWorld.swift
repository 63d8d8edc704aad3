package import AgentCore
internal import Glibc
internal import HostDNS
internal import HostProbes
import KernelModel
package import LinuxIO
internal import NetworkTypes
internal import PolicySource
import RoamwardCore
internal import TunnelProviders

extension World {
  /// The real machine, on this event loop.
  package static func linux(_ machine: LinuxMachine, loop: EventLoop, state: StateFolder, policyLayers: [String]) -> World {
    let helper = ProbeHelper(on: loop)
    let resolver = EndpointResolver(on: loop, helper)
    let commands = CommandProvider(on: loop)
    let alarm = Alarm(loop)
    var journal = state.journal
    journal.troubles = { [notes = journal.troubles] in
      notes() + machine.resolvConf.troubles + [machine.deafness()].compactMap { $0 }
    }
    let trial = TrialFolder(state, layers: policyLayers)
    let lastGood = LastGoodPolicies(state)
    var world = World(
      now: { .now }, wallClock: { Int64(time(nil)) },
      observe: { need throws(WorldError) in
        var observation = try machine.observe(need)
        observation.state.unfinishedLinks = observation.state.kernel.unfinished(among: journal.unfinishedLinks())
        return observation
      },
      apply: machine.apply,
      startUserspaceLink: { link, done in
        machine.userspace.start(link: link) { result in
          guard case .failure(let error) = result else { return done(nil) }
          machine.userspace.stop(link: link)
          done(error.description)
        }
      },
      endUserspaceLink: { machine.userspace.stop(link: $0) }, renewSessions: machine.renewSessions,
      wireGuardEngine: { machine.wireGuardEngine },
      resolve: { name, servers, link, done in
        resolver.resolve(name, servers: servers, link: link, mark: Ownership.mark) { result in
          switch result {
          case .success(let addresses): done(.addresses(addresses))
          case .failure(let error): done(.failed(because: error.description))
          }
        }
      },
      run: { action, tunnel, configuration, done in
        commands.run(action.providerAction, tunnel: tunnel, configuration) { result in
          if case .failure(let error) = result { done(.failed(because: error.description)) } else { done(.succeeded) }
        }
      },
      loadPolicies: { lastGood.load(trial.layersInForce, isTrial: trial.isInForce) }, journal: journal,
      wake: alarm.set)
    let probes = ProbeRunner(on: loop, helper, resolver: resolver)
    world.probe = { request, link, done in
      probes.run(request, by: ProbePassage(link: link.name, nameServers: link.dnsServers), then: done)
    }
    world.changeResolver = { step, done in
      FaultPoint.pass("before \(step)")
      machine.resolver.change(step) { problem in
        FaultPoint.pass("after \(step)")
        done(problem)
      }
      FaultPoint.pass("during \(step)")
    }
    world.readDevice = machine.readDevice
    world.resolveNeighbour = machine.resolveNeighbour
    world.endRun = commands.end
    world.cutRun = commands.cut
    world.controlGroup = populatedControlGroup
    world.trials = trial.trials
    let record = BlockedTrafficRecord()
    world.recordBlocking = record.write
    world.timeAsleep = { LinuxIO.timeAsleep }
    return world
  }
}

extension CommandAction {
  fileprivate var providerAction: CommandProvider.Action {
    switch self {
    case .up: .up
    case .down: .down
    case .status: .status
    }
  }
}

/// One timer of the loop, set anew each time.
private final class Alarm {
  private let loop: EventLoop
  private var source: EventSource?

  init(_ loop: EventLoop) { self.loop = loop }

  func set(_ moment: Moment?, _ handler: @escaping () -> Void) {
    source = moment.flatMap { try? loop.at($0, handler) }
  }
}
