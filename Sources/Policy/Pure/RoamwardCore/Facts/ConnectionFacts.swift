package import NetworkTypes

extension HostReports {
  /// Whether the link is metered. NetworkManager's own guesses count; without it, the same evidence gives the same guess: the type of link,
  /// and a phone's DHCP option 43.
  package func metered(_ link: LinkInQuestion, _ type: InterfaceType?, at now: Int64?) -> Traced<Bool> {
    selectFact(
      from: [managerMetered(link), leaseMetered(link, now), mediumMetered(link, type, now)],
      unknown:
        "nothing on this host knows whether \(link.name) is paid for by volume (cure: manage it by NetworkManager or systemd-networkd)",
      text: { $0 ? "yes" : "no" })
  }

  private func managerMetered(_ link: LinkInQuestion) -> SourceReading<Bool> {
    var remark: String?
    let answer = device(of: link).flatMap { device -> Answer<Bool> in
      if device.metered > 2 { remark = "it guesses" }
      return switch device.metered {
      case 1, 3: .value(true)
      case 2, 4: .value(false)
      default:
        device.state == .configuring ? .pending(reason: "it is still configuring \(link.name)") : .unavailable(reason: "it does not know")
      }
    }
    return SourceReading("NetworkManager", answer, remark: remark, confirmed: networkManagerAt)
  }

  private func leaseMetered(_ link: LinkInQuestion, _ now: Int64?) -> SourceReading<Bool> {
    let kept = networkd[link.index]?.lease.flatMap { lease in
      (lease.address.map(link.addresses.contains) ?? false) ? lease : nil
    }
    guard let lease = kept ?? lease(of: link) else { return SourceReading("DHCP lease", .unavailable(reason: "none is known")) }
    guard lease.isMetered else { return SourceReading("DHCP lease", .unavailable(reason: "it does not say ANDROID_METERED")) }
    return SourceReading("DHCP lease", .value(true), remark: "a phone says ANDROID_METERED (option 43)", confirmed: now)
  }

  private func mediumMetered(_ link: LinkInQuestion, _ type: InterfaceType?, _ now: Int64?) -> SourceReading<Bool> {
    switch type {
    case .cellular?, .usbTether?, .bluetooth?:
      SourceReading(
        "kind of link", .value(true), remark: "a guess: \(type?.rawValue ?? "") is paid for by volume as a rule", confirmed: now)
    case .ethernet? where networkd[link.index]?.isManaged == true, .wifi? where networkd[link.index]?.isManaged == true:
      SourceReading("kind of link", .value(false), remark: "a guess: \(type?.rawValue ?? "") seldom is", confirmed: now)
    default: SourceReading("kind of link", .unavailable(reason: "it does not say"))
    }
  }

  /// Whether a captive portal blocks the internet, as NetworkManager's check of this link found.
  package func captivePortal(_ link: LinkInQuestion) -> Traced<Bool> {
    selectFact(
      from: [connectivity(link).map { $0 == .portal }], unknown: noCheck,
      text: { $0 ? "its check found a portal" : "its check found no portal" })
  }

  package func internet(_ link: LinkInQuestion) -> Traced<Bool> {
    selectFact(from: [connectivity(link).map { $0 == .full }], unknown: noCheck, text: { $0 ? "its check succeeded" : "its check failed" })
  }

  private var noCheck: String {
    guard case .value(let words) = networkManager, !words.checksConnectivity else {
      return "no program of this host checks it (cure: let NetworkManager check, or give the agent --connectivity-check URL)"
    }
    return "NetworkManager's connectivity check is off (cure: apt install network-manager-config-connectivity-debian)"
  }

  private enum Connectivity: UInt32 {
    case none = 1, portal, limited, full
  }

  private func connectivity(_ link: LinkInQuestion) -> SourceReading<Connectivity> {
    let checks = if case .value(let words) = networkManager { words.checksConnectivity } else { true }
    let answer = device(of: link).flatMap { device -> Answer<Connectivity> in
      if !checks { return .unavailable(reason: "its connectivity check is off") }
      return Connectivity(rawValue: device.connectivity).map { .value($0) } ?? .unavailable(reason: "it has not checked \(link.name) yet")
    }
    return SourceReading("NetworkManager", answer, confirmed: networkManagerAt)
  }
}
