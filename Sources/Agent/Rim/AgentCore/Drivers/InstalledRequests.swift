internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

// The requests and reports of a provider, and their effects.
extension InstalledDriver {
  /// Does what the provider asks for its tunnel. The channel has done the rest.
  func carryOut(_ action: ProviderSession.Action) {
    switch action {
    case .stateChanged(.connected):
      beginWatch()
      report(.peerAnswered)
    case .apply(let id, let settings):
      judge(settings)
      run.begun?.pending.settings = id
      wantLink()
    case .openDevice(let id):
      guard allows(.device, id) else { return }
      // The link that the settings before have made needs no other pass.
      if run.begun?.link == .made, openDevice(id) == nil { return }
      run.begun?.pending.devices.append(id)
      wantLink()
    case .openXFRM(let id):
      guard allows(.xfrm, id) else { return }
      run.begun?.pending.devices.append(id)
      wantLink()
    case .openSocket(let id, let transport, let remote):
      guard allows(transport == .udp ? .udp : .tcp, id) else { return }
      openSocket(id, transport, remote)
    case .resolve(let id, let name): if allows(.resolve, id) { resolve(id, name) }
    case .ask(let id, let question): ask(id, question)
    case .withdraw(let id):
      questions.removeAll { $0.number == id }
      outlets.changed()
    case .reasserting(let code, let text): report(.reasserting("\(text) (\(code))"))
    case .transport(let text):
      run.begun?.transport = text.isEmpty ? nil : text
      outlets.changed()
    case .validity(let validity):
      run.begun?.validities.take(validity)
      tellValidities()
      outlets.changed()
    case .stateChanged, .asleep, .send, .replied, .runEnded, .neverGreeted, .close, .event, .log, .dropped, .violated, .keep: break
    }
  }

  func judge(_ settings: TunnelSettings) {
    let gateways = run.brought.gateways
    var places = outlets.places()
    places.hosts.formUnion(gateways)
    let judgement = SettingsJudgement(of: settings, for: policy(), allowance: configuration.allowance, places: places)
    (run.brought, run.refused) = (judgement.brought, judgement.refused)
    run.brought.gateways = gateways
    run.brought.lastIncluded = run.brought.included
    run.begun?.wanted = settings
  }

  /// Makes the agent set the link up, or give it other settings; `applied` follows.
  func wantLink() {
    if run.isPrepared { return outlets.changed() }
    run.begun?.link = .wanted
    report(.prepared)
  }

  func allows(_ need: ProviderProgram.Need, _ id: UInt32) -> Bool {
    if configuration.program.needs.contains(need) { return true }
    refuse(id, "policy", "the provider's manifest does not name `\(need.rawValue)` among its needs")
    return false
  }

  func openSocket(_ id: UInt32, _ transport: Transport, _ remote: Endpoint) {
    guard case .address(let address) = remote.host else { return refuse(id, "unreachable", "\(remote) has no address") }
    platform.installed.openSocket(tunnel, id, transport, remote) { [weak self] result in
      guard let self else { return }
      switch result {
      case .failure(let error): return refuse(id, "unreachable", error.description)
      case .success(let own): run.begun?.watch.connected(from: own)
      }
      if !run.brought.gateways.contains(address) { run.brought.gateways.append(address) }
      attempt { (session) throws(ProviderSession.Unsendable) in try session.socketOpened(id: id) }
    }
  }

  func resolve(_ id: UInt32, _ name: DomainName) {
    let lookup = platform.lookups.resolve(name, by: outlets.outerWay().lookup(of: name), on: underlay) { [weak self] resolution in
      guard let self else { return }
      run.begun?.pending.lookups[id] = nil
      switch resolution {
      case .missing(let reason), .failed(let reason): refuse(id, "unresolved", "\(name): \(reason)")
      case .addresses(let addresses):
        attempt { (session) throws(ProviderSession.Unsendable) in try session.resolved(id: id, addresses) }
      }
    }
    if let lookup { run.begun?.pending.lookups[id] = lookup }
  }
}

// Questions to a person.
extension InstalledDriver {
  func ask(_ id: UInt32, _ question: Question) {
    guard configuration.program.needs.contains(.ask) else { return answer(id, .unavailable) }
    questions.append(OpenQuestion(number: id, question: question, until: now + OpenQuestion.patience))
    outlets.publish(.question(number: Int(id), kind: question.kind.rawValue, prompt: question.prompt))
    outlets.changed()
  }

  func answer(_ id: UInt32, _ outcome: AnswerOutcome) {
    questions.removeAll { $0.number == id }
    attempt { [now] (session) throws(ProviderSession.Unsendable) in try session.answer(id: id, outcome, at: now) }
  }

  /// A person has answered the first open question, or this one; `nil`: declined. Throws what is wrong with the answer.
  func answer(_ number: Int?, with text: String?) throws(Refusal) {
    guard let open = questions.first(where: { number == nil || Int($0.number) == number }) else {
      throw Refusal(code: "no-question", text: "\(tunnel) asks nothing now")
    }
    guard let text else { return answer(open.number, .declined) }
    if open.question.kind.takesText {
      guard !text.isEmpty, text.utf8.count <= 4096 else {
        throw Refusal(code: "invalid", text: "an answer has 1 to 4,096 bytes")
      }
      do throws(PlatformError) {
        try platform.installed.keepSecret(tunnel, .secret(id: open.number), Array(text.utf8))
      } catch {
        throw Refusal(code: "unavailable", text: error.description)
      }
    }
    answer(open.number, .answered)
  }
}

// The link.
extension InstalledDriver {
  /// The link is as the plan wants it: requests that waited for that are answered.
  func applied() {
    if run.isPrepared { run.begun?.link = .made }
    guard let (devices, settings) = run.begun?.pending.take() else { return }
    for id in devices {
      if configuration.program.needs.contains(.xfrm) {
        openXFRM(id)
      } else if let error = openDevice(id) {
        refuse(id, "unavailable", error.description)
      }
    }
    if let settings {
      attempt { (session) throws(ProviderSession.Unsendable) in
        try session.settingsApplied(id: settings, refused: self.refused)
      }
    }
  }

  /// Returns why the link has no device to give.
  private func openDevice(_ id: UInt32) -> PlatformError? {
    do throws(PlatformError) {
      let mtu = try platform.installed.openDevice(tunnel, id, link)
      attempt { (session) throws(ProviderSession.Unsendable) in try session.deviceOpened(id: id, interface: link, mtu: mtu) }
      return nil
    } catch {
      return error
    }
  }

  func openXFRM(_ id: UInt32) {
    let mark = channel.life.program?.mark ?? Ownership.mark
    let found = XFRMLink(interface: link, identifier: Ownership.xfrmIdentifier(ofLink: link), mark: mark, mask: .max)
    attempt { (session) throws(ProviderSession.Unsendable) in try session.xfrmOpened(id: id, found) }
  }
}
