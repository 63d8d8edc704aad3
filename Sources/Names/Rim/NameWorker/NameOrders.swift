internal import Glibc
internal import LinuxIO
internal import NameProtocol
internal import NameServer
internal import NetworkTypes

// The agent's orders. The agent is trusted; what exceeds the limits is left out.
extension NameWork {
  func take(_ order: NameOrder, _ passed: FileDescriptor?) {
    let now = Moment.now
    switch order {
    case .listener(let number, let address, let isStream, let askers):
      if let passed { listen(passed, number, address.value, isStream: isStream, askers) }
    case .upstream(let number): if let passed { addUpstream(passed, number) }
    case .close(let number): listeners[number] = nil
    case .pool(let number, let v4, let v6): setPool(number, v4, v6, at: now)
    case .rules(let rules): draft = Draft(rules: rules, domains: DomainMap(capacity: min(rules.domainCount, 1 << 21)))
    case .domains(let disposition, let names):
      for name in names { if let name = DomainName(name) { draft?.domains.add(name, disposition) } }
    case .rebindAllowed(let names): for name in names { if let name = DomainName(name) { draft?.rebindAllowed.add(name, 0) } }
    case .routedDomains(let names): for name in names { if let name = DomainName(name) { draft?.routed.add(name, 0) } }
    case .apply: apply(at: now)
    case .state(let trigger, let state): machine.setState(state, of: trigger, at: now, &out)
    case .stream(let number, let trouble):
      let isUsed = servers.use(trouble == nil ? passed : nil, for: number, on: loop) { [weak self] in self?.exchange(withServer: number) }
      if !isUsed { machine.streamFailed(number, at: now, &out) }
    case .origin(let number, let address, let port):
      machine.setOrigin(address.map { Upstream($0.value, port: port) }, of: number, at: now, &out)
    case .routed(let number, let isRouted): machine.setRouted(isRouted, of: number, &out)
    case .count:
      let (cache, rules) = machine.memory
      report(.counters(machine.counters, held: machine.held, open: machine.open, cacheBytes: cache, ruleBytes: rules))
    }
    flush(at: now)
    releaseCodeLater()
  }

  private func listen(_ file: FileDescriptor, _ number: UInt16, _ address: IPAddress, isStream: Bool, _ askers: NameAskers) {
    guard listeners.count < NameLimits.listeners || listeners[number] != nil else { return }
    listeners[number] = nil
    let source = try? loop.whenReadable(file.number) { [weak self] in
      if isStream { self?.acceptClients(at: number) } else { self?.receiveQuestions(at: number) }
    }
    guard let source else { return }
    listeners[number] = Listener(file: file, address: address, isStream: isStream, askers: askers, source: source)
  }

  private func addUpstream(_ file: FileDescriptor, _ number: UInt16) {
    guard upstreams.count < NameLimits.upstreams, upstreams[number] == nil else { return }
    upstreams.add(file, number)
  }

  private func setPool(_ number: UInt16, _ v4: [UInt16], _ v6: [UInt16], at now: Moment) {
    let pool = SocketPool(v4: v4.filter { upstreams[$0] != nil }, v6: v6.filter { upstreams[$0] != nil })
    pools[number] = pool
    machine.setPool(number, pool, at: now, &out)
    upstreams.keep(Set(pools.values.flatMap { $0.v4 + $0.v6 }))
  }

  private func apply(at now: Moment) {
    guard let draft else { return report(.applied(fault: "no rules were sent")) }
    self.draft = nil
    var configuration = draft.rules.configuration(draft.domains)
    (configuration.rebindAllowed, configuration.routed) = (draft.rebindAllowed, draft.routed)
    report(.applied(fault: machine.configure(configuration, at: now, &out)))
  }

  /// The address at the other end of a connection.
  func remoteAddress(of file: FileDescriptor) -> (IPAddress, UInt16)? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        guard getpeername(file.number, generic, &length) == 0 else { return nil }
        switch Int32(generic.pointee.sa_family) {
        case AF_INET:
          return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { v4 in
            (IPAddress(v4: UInt32(bigEndian: v4.pointee.sin_addr.s_addr)), UInt16(bigEndian: v4.pointee.sin_port))
          }
        case AF_INET6:
          return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { v6 in
            let bytes = withUnsafeBytes(of: v6.pointee.sin6_addr) { Array($0) }
            return IPAddress(bytes: bytes).map { ($0, UInt16(bigEndian: v6.pointee.sin6_port)) }
          }
        default: return nil
        }
      }
    }
  }
}

extension Client.Asked {
  init(_ askers: NameAskers) {
    self =
      switch askers {
      case .led: .system
      case .captured: .captured
      case .ofRoute(let number): .ofRoute(number)
      }
  }
}
