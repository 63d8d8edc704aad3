internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol

/// The values that all phases of a client's run share. They stay readable after its end.
struct ClientRun {
  /// The options of the start.
  var options: ClientOptions?
  /// The kept login; `nil`: the next start has to log in.
  var login: ClientMemory.Login?
  var choice = SiteChoice()
  /// Whether this run has logged in.
  var hasSignedIn = false
  /// When it began.
  var began = Moment(nanoseconds: 0)
  var numbers = PushNumbers()
  /// The time of the present event, and its effects so far.
  var now = Moment(nanoseconds: 0)
  var effects: [ClientEffect] = []

  /// Begins the next run. A login that was for other options does not count.
  mutating func start(_ options: ClientOptions, _ kept: ClientMemory.Login?) {
    (self.options, hasSignedIn, began, numbers) = (options, false, now, PushNumbers())
    login = kept?.identity == options.identity ? kept : nil
    choice.start(options.gateway)
  }

  var grant: LoginGrant? { login?.grant }

  mutating func effect(_ effect: ClientEffect) { effects.append(effect) }

  mutating func log(_ level: LogLine.Level, _ origin: Word, _ text: String) { effects.append(.log(level, text, origin: origin)) }

  mutating func report(_ refused: [RefusedSetting]) {
    for setting in refused { log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
  }

  mutating func updateSites() { if let grant { choice.update(grant, at: now) } }

  /// Uses the settings at this gateway from now on.
  mutating func use(_ site: GatewaySite) {
    guard let grant else { return }
    login?.grant = grant.at(site)
    effects.append(.keep)
    updateSites()
  }

  /// Takes settings that the gateway has sent, if they are newer than the last ones. Returns whether they are others than before.
  mutating func take(_ push: SettingsPush) -> Bool {
    guard let old = grant, push.grant != old else { return false }
    log(.notice, "settings", "the gateway has changed them")
    login?.grant = push.grant
    effects.append(.keep)
    updateSites()
    return true
  }
}
