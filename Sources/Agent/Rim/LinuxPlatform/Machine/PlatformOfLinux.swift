package import AgentCore
internal import Glibc
internal import HostDNS
internal import HostProbes
internal import HostProxies
internal import HostServices
import KernelModel
import LinuxIO
internal import NetworkTypes
internal import PolicySource
internal import ProviderGroups
internal import ProviderProtocol
import RoamwardCore
package import SystemdIO
internal import TunnelProviders

extension Platform {
  /// The real machine, on this event loop.
  package static func linux(_ machine: LinuxMachine, loop: EventLoop, state: StateFolder, recorder: FlightRecorder, policyLayers: [String])
    -> Platform
  {
    let trial = TrialFolder(state, layers: policyLayers)
    let lastKnownGood = LastKnownGoodStore(state)
    var log = state.recoveryLog
    log.isBehind = { [notes = log.isBehind] in notes() || recorder.isBehind }
    log.troubles = { [notes = log.troubles] in
      recorder.tryAgain(at: .now)
      return notes() + recorder.troubles + machine.resolvConf.troubles + [machine.watchLimit()].compactMap { $0 }
    }
    let record = BlockedTrafficRecord()
    return Platform(
      clock: .linux(loop), machine: .linux(machine, unfinishedLinks: log.unfinishedLinks), network: .linux(machine, loop),
      commands: .linux(loop, machine.providerGroups), installed: .linux(loop, machine, kept: state.path + "/kept"),
      services: .linux(loop, machine.providerGroups),
      guards: .linux(loop, machine.providerGroups, log, GuardPresence(in: state.path)),
      programs: .linux(loop, machine.providerGroups.programs, log),
      policies: PolicyPlatform(
        load: { lastKnownGood.load(trial.layersInForce, files: trial.files, isTrial: trial.isInForce) }, trials: trial.trials),
      recoveryLog: log, recordBlocking: record.write)
  }
}

extension ClockPlatform {
  fileprivate static func linux(_ loop: EventLoop) -> ClockPlatform {
    let alarm = Alarm(loop)
    return ClockPlatform(
      now: { .now }, wallClock: { .now }, localTime: \.localTime, timeAsleep: { LinuxIO.timeAsleep }, wake: { alarm.set($0, $1) })
  }
}

extension MachinePlatform {
  fileprivate static func linux(_ machine: LinuxMachine, unfinishedLinks: @escaping () -> Set<String>) -> MachinePlatform {
    MachinePlatform(
      observe: { request throws(PlatformError) in
        var observation = try machine.observe(request)
        observation.state.unfinishedLinks = observation.state.kernel.unfinished(among: unfinishedLinks())
        return observation
      },
      observeResolver: machine.observeResolver, isAsObserved: machine.isAsObserved, apply: machine.apply, begin: machine.begin,
      endUserspaceLink: { machine.engines.userspace.stop(link: $0) }, wireGuardEngine: { machine.engines.choice },
      keepEngineReady: machine.engines.keepReady, readDevice: machine.readDevice, watchPackets: machine.watchPackets,
      countPackets: packetsCarried, watchLookups: { machine.watchLookups($0) },
      watchAnswers: { machine.watchAnswers($0) }, connectedAddresses: HostDNS.connectedAddresses, listeningPorts: openPorts,
      portHolder: { port, _ in PortHolder(of: port) },
      controlGroup: populatedControlGroup)
  }
}

extension NetworkPlatform {
  fileprivate static func linux(_ machine: LinuxMachine, _ loop: EventLoop) -> NetworkPlatform {
    let helper = ProbeHelper(on: loop)
    let resolver = EndpointResolver(on: loop, helper)
    let probes = ProbeRunner(on: loop, helper, resolver: resolver)
    machine.proxies.fetch = { fetchScript($0, by: probes, then: $1) }
    return NetworkPlatform(
      resolve: { name, way, done in
        let mark = way.isOutside ? Ownership.mark : nil
        let lookUp = resolver.resolve(name, servers: way.servers, link: way.link, mark: mark) { result in
          switch result {
          case .success(let addresses): done(.addresses(addresses))
          case .failure(let error): done(error.isMissing ? .missing(reason: error.description) : .failed(reason: error.description))
          }
        }
        return Cancellation(lookUp)
      },
      probe: { request, link, done in
        Cancellation(probes.run(request, by: ProbePassage(link: link.name, nameServers: link.dnsServers), then: done))
      },
      resolveNeighbour: machine.resolveNeighbour, tryEndpoint: EndpointTrial.init(to:_:mark:), leave: helper.renew)
  }
}

extension CommandPlatform {
  fileprivate static func linux(_ loop: EventLoop, _ groups: ProviderGroups) -> CommandPlatform {
    let commands = CommandProvider(on: loop, groups: groups)
    return CommandPlatform(
      run: { action, tunnel, configuration, mark, done in
        commands.run(action.providerAction, tunnel: tunnel, configuration, mark: mark) { result in
          var outcome = CommandOutcome.succeeded
          if case .failure(let error) = result { outcome = .failed(reason: error.description) }
          guard action == .down, let unit = ServiceProviderConfiguration(stoppedBy: configuration) else { return done(outcome) }
          // It is stopped, or systemd said why not; its drop-in and its slice remain.
          ServicePlatform.stop(unit, tunnel, loop, groups) { [outcome] _ in done(outcome) }
        }
      },
      end: { commands.end(tunnel: $0) }, cut: { commands.cut(tunnel: $0) },
      keepGroup: { isNeeded in if isNeeded { groups.prepare() } else { groups.removeUnused() } },
      usage: { tunnel in
        let group = groups.existingGroup(of: tunnel) ?? groups.existingSlice(of: tunnel)
        guard let group, group.isPopulated, let usage = group.usage else { return nil }
        return ProgramUsage(processes: group.processes.count, memory: usage.memory, processorTime: usage.processorTime)
      })
  }
}

extension InstalledPlatform {
  fileprivate static func linux(_ loop: EventLoop, _ machine: LinuxMachine, kept: String) -> InstalledPlatform {
    let groups = machine.providerGroups
    let providers = InstalledProviders(
      on: loop, groups: groups, kept: kept, store: machine.descriptorStore, channels: DescriptorStore.take())
    return InstalledPlatform(
      start: { tunnel, program, mark, events throws(PlatformError) in
        do throws(ProviderError) {
          try providers.start(tunnel, program, mark: mark) { events(ProviderChannelEvent($0)) }
        } catch {
          throw PlatformError(error.description)
        }
      },
      openCredentials: { tunnel, configuration throws(PlatformError) in
        do throws(ProviderError) { return try providers.openCredentials(tunnel, configuration) } catch {
          throw PlatformError(error.description)
        }
      },
      send: { providers.send($0, $1, $2) },
      openDevice: { tunnel, id, link throws(PlatformError) in
        do throws(ProviderError) { return try providers.openDevice(tunnel, id, link: link) } catch {
          throw PlatformError(error.description)
        }
      },
      openSocket: { tunnel, id, transport, remote, done in
        providers.openSocket(tunnel, id, transport, remote) { done($0.mapError { PlatformError($0.description) }) }
      },
      keepSecret: { tunnel, name, bytes throws(PlatformError) in
        do throws(ProviderError) { try providers.keepSecret(tunnel, name, bytes) } catch { throw PlatformError(error.description) }
      },
      keep: { tunnel, configuration, bytes throws(PlatformError) in
        do throws(ProviderError) { try providers.keep(tunnel, configuration.program, bytes) } catch {
          throw PlatformError(error.description)
        }
      }, end: { providers.end($0) }, cut: { providers.cut($0) },
      endLeftovers: { commands in
        groups.find()
        providers.endLeftovers(except: commands)
      },
      handOver: { providers.handOver($0).map { LeftProgram(process: Int64($0.process), started: Int64(clamping: $0.started)) } },
      adopt: { tunnel, left, mark, events in
        let identity = ProgramIdentity(process: Int32(clamping: left.process), started: UInt64(clamping: left.started))
        return providers.adopt(tunnel, identity, mark: mark) { events(ProviderChannelEvent($0)) }
      }, endUnclaimed: { providers.endUnclaimed($0) })
  }
}

extension ProviderChannelEvent {
  fileprivate init(_ event: InstalledProviders.Event) {
    switch event {
    case .message(let bytes, let hasDescriptor): self = .message(bytes, hasDescriptor: hasDescriptor)
    case .closed: self = .closed
    case .ended(let code): self = .ended(code: code)
    }
  }
}

extension ServicePlatform {
  fileprivate static func linux(_ loop: EventLoop, _ groups: ProviderGroups) -> ServicePlatform {
    ServicePlatform(
      start: { service, marking, news in
        var slice: UnitSlice?
        if service.hasGroup {
          if case .unavailable(let reason) = groups.prepare() {
            // Without a need of the mark it runs as it is, as commands do.
            if marking.isRequired {
              let refusal = try? loop.at(.now) { news(.ended(reason: "\(service.service.name): its sockets cannot be marked: \(reason)")) }
              return refusal.map(Cancellation.init)
            }
          } else {
            slice = UnitSlice(marking, groups)
          }
        }
        let run = service.run(on: loop, in: slice)
        run.start { found in
          switch found {
          case .marked: news(.marked)
          case .running: news(.running)
          case .ended(let reason): news(.ended(reason: reason))
          }
        }
        return Cancellation(run)
      },
      stop: { stop($0, $1, loop, groups, $2) })
  }

  /// Stops a service, and removes what made it this tunnel.
  fileprivate static func stop(
    _ service: ServiceProviderConfiguration, _ tunnel: String, _ loop: EventLoop, _ groups: ProviderGroups,
    _ done: @escaping (PlatformError?) -> Void
  ) {
    let slice = service.hasGroup ? UnitSlice(ProviderGroups.slice(of: tunnel), forget: { groups.forgetSlice(of: tunnel) }) : nil
    // It lives until it has called back.
    let run = service.run(on: loop, in: slice)
    run.stop { reason in
      withExtendedLifetime(run) { done(reason.map { PlatformError($0) }) }
    }
  }
}

extension UnitSlice {
  fileprivate init(_ marking: ServicePlatform.Marking, _ groups: ProviderGroups) {
    let tunnel = marking.tunnel
    self.init(
      ProviderGroups.slice(of: tunnel), isTakenOver: marking.isTakenOver,
      mark: {
        do throws(ProviderGroupError) {
          try groups.markSlice(of: tunnel, marking.mark)
          return nil
        } catch {
          return error.description
        }
      }, isMarked: { groups.isSliceMarked(of: tunnel) })
  }
}

extension GuardPlatform {
  fileprivate static func linux(
    _ loop: EventLoop, _ groups: ProviderGroups, _ log: RecoveryLog, _ presence: GuardPresence
  ) -> GuardPlatform {
    let provider = GuardProvider(on: loop, groups: groups)
    return GuardPlatform(
      namespace: ownNetworkNamespace ?? 0,
      found: {
        _ = groups.find()
        let noted = log.guards()
        for process in groups.guards where !noted.contains(where: { $0.process == process }) { groups.endGuard(process) }
        presence.removeAll(except: noted)
        return noted.compactMap { program in
          let standing = presence.standing(program, in: groups)
          if standing?.heldSince != nil || standing == nil { groups.endGuard(program.process) }
          if standing == nil { log.forgetGuard(program.process) }
          return standing
        }
      },
      claim: { process throws(PlatformError) in
        do throws(SystemError) { try provider.claim(process) } catch { throw PlatformError("\(error)") }
      },
      makeGroup: { process throws(PlatformError) in
        do throws(ProviderGroupError) {
          let group = try groups.makeGuard(of: process)
          return ProviderGroup(number: group.number, level: group.level)
        } catch {
          throw PlatformError(error.description)
        }
      },
      admit: { program throws(PlatformError) in
        presence.remove(program.process)
        log.recordGuard(program)
        do throws(SystemError) { try provider.admit(program.process) } catch { throw PlatformError("\(error)") }
      },
      watch: { program, ended in
        provider.watch(program.process) { ended(presence.isThere(program.process) ? .unsaid : .wanted) }
      },
      end: { provider.end($0.process, then: $1) }, hold: log.recordGuard,
      forget: {
        log.forgetGuard($0.process)
        presence.remove($0.process)
      }, presence: { presence.path(of: $0.process) },
      usage: { program in
        guard let group = groups.existingGuard(of: program.process), group.isPopulated, let usage = group.usage else { return nil }
        return ProgramUsage(processes: group.processes.count, memory: usage.memory, processorTime: usage.processorTime)
      })
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

/// One timer of the loop, set again each time.
private final class Alarm {
  private let loop: EventLoop
  private var source: EventSource?

  init(_ loop: EventLoop) { self.loop = loop }

  func set(_ moment: Moment?, _ handler: @escaping () -> Void) {
    source = moment.flatMap { try? loop.at($0, handler) }
  }
}
