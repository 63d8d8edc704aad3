package import NetworkTypes

/// The name server without IO: questions, answers, states of tunnels and the time go in; messages and requests come out. It is total and
/// deterministic: `random` is its only source of chance.
///
/// Every valid question gets exactly one response, within 5 s of its arrival as long as `expire` is called at `nextDeadline`.
package struct NameServerMachine: Sendable {
  package private(set) var counters = NameServerCounters()
  private var configuration = NameServerConfiguration()
  private var pools: [UInt16: SocketPool] = [:]
  private var filters: [PrefixFilter] = []
  private var redirects: [RedirectCheck] = []
  private var partitions = CachePartitions()
  private var progress: [TriggerProgress] = []
  private var holdTable = HoldTable()
  private var forwarder: ForwardMachine
  private var cache: AnswerCache
  private var awaited = AwaitedAgent()
  private let seed: UInt64
  private let random: @Sendable () -> UInt64

  /// - Parameter random: unpredictable values, of all 64 bits.
  package init(random: @escaping @Sendable () -> UInt64) {
    forwarder = ForwardMachine(random: random)
    seed = random()
    cache = AnswerCache(seed: random())
    self.random = random
  }

  /// The moment at which `expire` is to be called; `nil`: nothing is open.
  package var nextDeadline: Moment? {
    var next = forwarder.nextDeadline
    if let held = holdTable.nextDeadline { next = min(next ?? held, held) }
    if let asked = awaited.nextDeadline { next = min(next ?? asked, asked) }
    return next
  }

  /// Questions that wait for a tunnel, and those that servers are asked.
  package var held: Int { holdTable.count }
  package var open: Int { forwarder.count + awaited.count }

  /// Heap bytes of the cache and the rules, nearly.
  package var memory: (cache: Int, rules: Int) { (cache.memory, configuration.domains.memory) }
}

// Inputs of the agent.
extension NameServerMachine {
  /// Applies a configuration. Triggers of the same name keep their states; open questions are treated anew, by their original times. A
  /// configuration with a `fault` is left out; the fault is returned.
  package mutating func configure(_ new: NameServerConfiguration, at now: Moment, _ out: inout Outbox) -> String? {
    if let fault = new.fault { return fault }
    let states = Dictionary(zip(configuration.triggers.map(\.name), progress)) { first, _ in first }
    let questions = takeBackAll(&out)
    progress = new.triggers.map { states[$0.name] ?? TriggerProgress() }
    if new.network != configuration.network || new.groups != configuration.groups || configuration.rebindAllowed.count > 0 {
      cache.removeAll()
      partitions.begin(groups: new.groups.count)
      filters = new.groups.map { PrefixFilter($0.blocked) }
      redirects = new.groups.map { _ in RedirectCheck() }
    }
    configuration = new
    forwarder.set(new.groups, pools)
    for question in questions { dispatch(question, at: now, &out) }
    return nil
  }

  /// Replaces the sockets of a pool. Open questions of the former ones are asked again.
  package mutating func setPool(_ number: UInt16, _ pool: SocketPool, at now: Moment, _ out: inout Outbox) {
    let questions = forwarder.takeBack(where: { _ in true }, &out) + giveUpChecks()
    pools[number] = pool
    forwarder.set(configuration.groups, pools)
    for question in questions { dispatch(question, at: now, &out) }
  }

  /// Takes the state of a trigger's tunnel.
  package mutating func setState(_ state: TriggerState, of trigger: Int, at now: Moment, _ out: inout Outbox) {
    guard progress.indices.contains(trigger) else { return }
    let wasConnected = progress[trigger].isConnected
    progress[trigger].become(state, at: now)
    let group = configuration.triggers[trigger].group
    if wasConnected != (state == .connected) { partitions.forget(group) }
    switch state {
    case .connected:
      for question in holdTable.take(trigger) { dispatch(question, at: now, &out) }
    case .failed:
      for question in holdTable.take(trigger) { fail(question, .noReachableAuthority, trigger, &out) }
      fallthrough
    case .down, .starting:
      guard wasConnected else { return }
      for question in forwarder.takeBack(where: { $0.group == group && !$0.isCheck }, &out) { dispatch(question, at: now, &out) }
    }
  }

  private mutating func takeBackAll(_ out: inout Outbox) -> [Question] {
    (forwarder.takeBack(where: { _ in true }, &out) + giveUpChecks() + holdTable.releaseAll() + awaited.origins.takeAll())
      .sorted { $0.arrival < $1.arrival }
  }

  private mutating func giveUpChecks() -> [Question] { redirects.indices.flatMap { redirects[$0].giveUp() } }
}

// Questions.
extension NameServerMachine {
  /// Takes a message of a client.
  package mutating func receive(_ message: Span<UInt8>, from client: Client, at now: Moment, _ out: inout Outbox) {
    counters.questions += 1
    let outline: QuestionOutline
    do throws(QuestionOutline.Fault) { outline = try QuestionOutline(message) } catch {
      counters.malformedQuestions += 1
      guard case .code(let code) = error else { return }
      counters.responses += 1
      let flags = message.word16(2)
      return out.reply(to: client) {
        Responses.append(to: &$0, id: message.word16(0), flags: flags, code: code, question: message, 0..<0, edns: nil)
      }
    }
    if let code = outline.unsupported { return reply(code, to: message, outline, of: client, &out) }
    let text = NameText(message, at: MessageFormat.header)
    let name = text.bytes.span.extracting(0..<text.count)
    if let code = configuration.ownCode(for: name, outline.type) { return reply(code, to: message, outline, of: client, &out) }
    if let own = configuration.dispositionBeforeSearch(of: name, from: client) {
      return refuse(Question(message, outline, from: client, at: now), searchedFor: own, &out)
    }
    let disposition = configuration.disposition(of: name, from: client)
    let key = QuestionKey(message, outline.range, flags: outline.flags, edns: outline.edns, seed: seed)
    let first = configuration.group(of: disposition) { progress[$0].isConnected }
    if let group = first, group != configuration.passing?.from || client.asked == .system, !configuration.isRouted(name, client) {
      let isCached = cache.find(key, message, outline.range, partition: partitions[group], at: now) { answer, age in
        out.reply(to: client) {
          Responses.append(
            answer, to: &$0, id: outline.id, flags: outline.flags, question: message, outline.range, edns: outline.edns,
            limit: QuestionKey.limit(of: client, outline.edns), age: age)
        }
      }
      if isCached {
        counters.cached += 1
        counters.responses += 1
        return
      }
    }
    treat(Question(message, outline, from: client, at: now), key, by: disposition, at: now, &out)
  }

  /// Answers at once, without records.
  private mutating func reply(
    _ code: UInt16, to message: Span<UInt8>, _ outline: QuestionOutline, of client: Client, _ out: inout Outbox
  ) {
    counters.responses += 1
    out.reply(to: client) {
      Responses.append(to: &$0, id: outline.id, flags: outline.flags, code: code, question: message, outline.range, edns: outline.edns)
    }
  }

  /// Treats a question that was open before the state changed.
  private mutating func dispatch(_ question: Question, at now: Moment, _ out: inout Outbox) {
    let text = NameText(question.wire.span, at: 0)
    let name = text.bytes.span.extracting(0..<text.count)
    if let own = configuration.dispositionBeforeSearch(of: name, from: question.client) { return refuse(question, searchedFor: own, &out) }
    let disposition = configuration.disposition(of: name, from: question.client)
    treat(question, QuestionKey(question, seed: seed), by: disposition, at: now, &out)
  }

  private mutating func treat(
    _ question: Question, _ key: QuestionKey, by disposition: Disposition, at now: Moment, _ out: inout Outbox
  ) {
    switch disposition {
    case .forward(let group):
      if let passing = configuration.passing, passing.from == group { return pass(question, key, passing, at: now, &out) }
      ask(question, key, ForwardedQuery.Purpose(group: group), at: now, &out)
    case .connectAlways(let trigger) where progress[trigger].isConnected,
      .connectIfNeeded(let trigger, _) where progress[trigger].isConnected:
      ask(question, key, ForwardedQuery.Purpose(group: configuration.triggers[trigger].group), at: now, &out)
    case .connectAlways(let trigger): hold(question, for: trigger, at: now, &out)
    case .connectIfNeeded(let trigger, let first):
      check(first, at: now, &out)
      ask(question, key, ForwardedQuery.Purpose(group: first, fallback: trigger), at: now, &out)
    case .refuse:
      counters.refused += 1
      fail(question, .noReachableAuthority, nil, &out)
    }
  }

  private mutating func ask(
    _ question: Question, _ key: QuestionKey, _ purpose: ForwardedQuery.Purpose, at now: Moment, _ out: inout Outbox
  ) {
    if configuration.isRouted(question), answerFromCache(question, key, purpose, at: now, &out) { return }
    let (acceptance, finished) = forwarder.ask(question, key, for: purpose, at: now, &out, &counters)
    switch acceptance {
    case .sent: if let finished { finish(finished, at: now, &out) }
    case .joined: counters.joined += 1
    case .full:
      counters.overflowed += 1
      guard let old = forwarder.makeRoom(for: purpose, at: now, &out) else { return fail(question, .noReachableAuthority, nil, &out) }
      finish(old, at: now, &out)
      ask(question, key, purpose, at: now, &out)
    }
  }

  /// Asks the servers of a group for a random name, if they were not asked on this network yet.
  private mutating func check(_ group: Int, at now: Moment, _ out: inout Outbox) {
    guard redirects[group].begin() else { return }
    let question = Question(ofOurOwn: RedirectCheck.question(random: random), at: now)
    let purpose = ForwardedQuery.Purpose(group: group, isCheck: true)
    let (acceptance, finished) = forwarder.ask(question, QuestionKey(question, seed: seed), for: purpose, at: now, &out, &counters)
    if let finished { finish(finished, at: now, &out) } else if acceptance == .full { endCheck(of: group, [], at: now, &out) }
  }

  private mutating func endCheck(of group: Int, _ addresses: [IPAddress], at now: Moment, _ out: inout Outbox) {
    for answer in redirects[group].end(addresses) { finish(answer, at: now, &out) }
  }

  /// Passes on a question that belongs to no tunnel: to the network's servers, or to the one that the program asked.
  private mutating func pass(_ question: Question, _ key: QuestionKey, _ passing: Passing, at now: Moment, _ out: inout Outbox) {
    var purpose = ForwardedQuery.Purpose(group: passing.from)
    switch question.client.asked {
    case .system, .ofRoute: break
    case .captured:
      guard let number = awaited.origins.add(question, at: now) else {
        counters.overflowed += 1
        return fail(question, .noReachableAuthority, nil, &out)
      }
      return out.request(.origin(number: number, client: question.client))
    case .server(let server):
      if !configuration.groups[passing.from].servers.contains(server) {
        purpose = ForwardedQuery.Purpose(group: passing.by, server: server)
      }
      if answerFromCache(question, key, purpose, at: now, &out) { return }
    }
    ask(question, key, purpose, at: now, &out)
  }

  /// Takes the server that a captured question was sent to; `nil`: it cannot be found out, and the network's servers are asked.
  package mutating func setOrigin(_ server: Upstream?, of number: UInt32, at now: Moment, _ out: inout Outbox) {
    if let question = awaited.origins.take(number) { take(question, askedOf: server, at: now, &out) }
  }

  private mutating func take(_ question: Question, askedOf server: Upstream?, at now: Moment, _ out: inout Outbox) {
    var question = question
    question.client.asked = server.map { .server($0) } ?? .system
    dispatch(question, at: now, &out)
  }

  private mutating func answerFromCache(
    _ question: Question, _ key: QuestionKey, _ purpose: ForwardedQuery.Purpose, at now: Moment, _ out: inout Outbox
  ) -> Bool {
    var found: HeldAnswer?
    _ = cache.find(key, question.wire.span, 0..<question.wire.count, partition: partitions[purpose], at: now) { answer, age in
      var bytes: [UInt8] = []
      bytes.append(answer, 0..<answer.count)
      found = HeldAnswer(questions: [question], bytes: bytes, age: age)
    }
    guard let found else { return false }
    counters.cached += 1
    give(found, at: now, &out)
    return true
  }

  private mutating func hold(_ question: Question, for trigger: Int, at now: Moment, _ out: inout Outbox) {
    guard !progress[trigger].isRefused(at: now) else {
      counters.refused += 1
      return fail(question, .noReachableAuthority, trigger, &out)
    }
    let (verdict, evicted) = holdTable.hold(question, for: trigger, at: now)
    counters.evicted += UInt64(evicted.count)
    for question in evicted { fail(question, .noReachableAuthority, trigger, &out) }
    guard verdict == .held else {
      counters.expired += 1
      return fail(question, .noReachableAuthority, trigger, &out)
    }
    counters.held += 1
    guard progress[trigger].needsRequest(at: now) else { return }
    out.request(.start(trigger: trigger, name: question.nameText, type: question.type, client: question.client))
  }

  /// Answers a question for a name with a search domain behind it, whose own fate is `own`: it fails like the name itself as long as that
  /// cannot be resolved, and does not exist otherwise.
  private mutating func refuse(_ question: Question, searchedFor own: Disposition, _ out: inout Outbox) {
    counters.refused += 1
    switch own {
    case .connectAlways(let trigger) where !progress[trigger].isConnected,
      .connectIfNeeded(let trigger, _) where !progress[trigger].isConnected:
      fail(question, .noReachableAuthority, trigger, &out)
    case .refuse: fail(question, .noReachableAuthority, nil, &out)
    case .forward, .connectAlways, .connectIfNeeded:
      counters.responses += 1
      question.give(ResponseCode.noSuchName, &out)
    }
  }

  /// The failing response: the application may try again, and caches nothing.
  private mutating func fail(_ question: Question, _ reason: ExtendedError, _ trigger: Int?, _ out: inout Outbox) {
    counters.responses += 1
    let text = trigger.map { "\(configuration.triggers[$0].name) is not connected" } ?? ""
    question.give(ResponseCode.serverFailure, &out, reason, text)
  }
}

// Answers, and the time.
extension NameServerMachine {
  /// Takes a datagram that arrived at a socket for name servers.
  package mutating func receive(
    _ message: Span<UInt8>, at socket: UInt16, from address: IPAddress, port: UInt16, at now: Moment, _ out: inout Outbox
  ) {
    let finished = forwarder.receive(message, at: socket, from: Upstream(address, port: port), at: now, &out, &counters)
    if let finished { finish(finished, at: now, &out) }
  }

  /// Takes the message that arrived on a connection; `nil`: there is no connection, or it has ended.
  package mutating func receive(_ message: Span<UInt8>, onStream number: UInt32, at now: Moment, _ out: inout Outbox) {
    if let finished = forwarder.receive(stream: number, message, at: now, &out, &counters) { finish(finished, at: now, &out) }
  }

  /// A connection could not be made, or has ended without an answer.
  package mutating func streamFailed(_ number: UInt32, at now: Moment, _ out: inout Outbox) {
    if let finished = forwarder.receive(stream: number, nil, at: now, &out, &counters) { finish(finished, at: now, &out) }
  }

  /// The kernel did not take a datagram.
  package mutating func undelivered(_ datagram: Outbox.Datagram, at now: Moment) {
    forwarder.undelivered(datagram.socket, datagram.id, at: now)
  }

  /// Does what is due.
  package mutating func expire(at now: Moment, _ out: inout Outbox) {
    for finished in forwarder.expire(at: now, &out, &counters) { finish(finished, at: now, &out) }
    for question in awaited.origins.expire(at: now) { take(question, askedOf: nil, at: now, &out) }
    for answer in awaited.routes.expire(at: now) { finish(answer, isRouted: false, &out) }
    guard let next = holdTable.nextDeadline, next <= now else { return }
    for (question, trigger) in holdTable.expire(at: now) {
      counters.expired += 1
      fail(question, .noReachableAuthority, trigger, &out)
    }
  }

  private mutating func finish(_ finished: ForwardMachine.Finished, at now: Moment, _ out: inout Outbox) {
    let query = finished.query
    let group = query.purpose.group
    switch finished.result {
    case .failure where query.purpose.isCheck: endCheck(of: group, [], at: now, &out)
    case .failure(let reason):
      if let trigger = query.purpose.fallback { return goOn(query, with: trigger, at: now, &out) }
      counters.unanswered += UInt64(query.askerCount)
      query.forEachAsker { fail($0, reason, nil, &out) }
    case .answer(var prepared):
      let outline = prepared.outline
      if query.purpose.isCheck {
        return endCheck(of: group, AnswerAddresses.all(prepared.bytes.span, outline), at: now, &out)
      }
      if query.purpose.fallback != nil, outline.code == ResponseCode.noError, redirects[group].keeps(finished) { return }
      let blocked = blockedAddress(prepared.bytes.span, outline, query.purpose)
      if blocked != nil { counters.blocked += 1 }
      if let trigger = query.purpose.fallback, blocked != nil || outline.code != ResponseCode.noError {
        return goOn(query, with: trigger, at: now, &out)
      }
      if let blocked {
        out.request(.withheld(name: query.nameText, address: blocked))
        query.forEachAsker { fail($0, .blocked, nil, &out) }
        return
      }
      // This server validates nothing: the word of another one would be a stranger's.
      var flags = prepared.bytes.span.word16(2) & ~HeaderFlags.authenticData
      // A refusal makes programs ask the next server of their list, which may not be permitted for the name.
      if outline.code == ResponseCode.refused { flags = flags & ~HeaderFlags.code | ResponseCode.serverFailure }
      prepared.bytes.set(word16: flags, at: 2)
      cache.store(prepared.bytes.span, outline, query.key, partition: partitions[query.purpose], at: now)
      var questions: [Question] = []
      query.forEachAsker { questions.append($0) }
      give(HeldAnswer(questions: questions, bytes: prepared.bytes), at: now, &out)
    }
  }

  /// Gives an answer to its clients: once the agent has routed its addresses, if its name is routed.
  private mutating func give(_ answer: HeldAnswer, at now: Moment, _ out: inout Outbox) {
    switch awaited.take(answer, by: configuration, at: now, &out) {
    case .ready: finish(answer, &out)
    case .waiting: break
    case .full:
      counters.overflowed += 1
      finish(answer, isRouted: false, &out)
    }
  }

  /// Takes the agent's word on the addresses of an answer: whether packets to them go where the name's are to go.
  package mutating func setRouted(_ isRouted: Bool, of number: UInt32, _ out: inout Outbox) {
    if let answer = awaited.routes.take(number) { finish(answer, isRouted: isRouted, &out) }
  }

  private mutating func finish(_ answer: HeldAnswer, isRouted: Bool = true, _ out: inout Outbox) {
    guard isRouted else { return answer.questions.forEach { fail($0, .noRoute, nil, &out) } }
    counters.responses += UInt64(answer.questions.count)
    answer.give(&out)
  }

  /// The first address that the answer may not have; `nil`: it has none. Addresses for which a tunnel is started are no exception of a
  /// name's domain.
  private func blockedAddress(_ answer: Span<UInt8>, _ outline: AnswerOutline, _ purpose: ForwardedQuery.Purpose) -> IPAddress? {
    let (filter, redirect) = (filters[purpose.group], redirects[purpose.group])
    guard !filter.isEmpty || purpose.fallback != nil else { return nil }
    var blocked: IPAddress?
    let isFound = AnswerAddresses.contains(answer, outline) {
      blocked = $0
      return filter.contains($0) || purpose.fallback != nil && redirect.contains($0)
    }
    guard isFound, purpose.fallback != nil || !configuration.isRebindAllowed(answer) else { return nil }
    return blocked
  }

  /// The first group does not know the name: its tunnel does, once it is connected.
  private mutating func goOn(_ query: ForwardedQuery, with trigger: Int, at now: Moment, _ out: inout Outbox) {
    query.forEachAsker { treat($0, query.key, by: .connectAlways(trigger: trigger), at: now, &out) }
  }
}
