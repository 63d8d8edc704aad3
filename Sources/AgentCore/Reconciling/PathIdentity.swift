import KernelModel
package import NetworkTypes
package import RoamwardCore

/// The path of a tunnel's packets below it: when it changes, the other side has to be asked whether it still hears us.
///
/// Of the primary link's addresses only the one in use counts: the source address that the default route names, or else one that was there
/// when the path was first seen, for as long as it stays. Others come and go (privacy addresses, further prefixes) and change nothing.
package struct PathIdentity: Hashable, Sendable {
  private struct Way: Hashable {
    var source: IPAddress?
    var gateway: IPAddress?
  }

  /// A link that gets another name is the same; one that takes the place of another is not, be it of the same name.
  private let device: DeviceIdentity?
  /// In a network without devices the name has to do.
  private let invented: String?
  private var ways: [IPAddress.Family: Way] = [:]

  /// `before`: the path until now, whose addresses stay in use while they are there.
  package init(_ snapshot: NetworkSnapshot, after before: PathIdentity? = nil) {
    let primary = snapshot.primaryLink
    device = primary?.device
    invented = device == nil ? primary?.name : nil
    guard let primary else { return }
    let isSameLink = before?.device == device && before?.invented == invented
    for family in IPAddress.Family.allCases {
      let addresses = primary.addresses.filter { $0.address.family == family && !$0.address.isLinkLocal }
      let gateway = primary.gateways.first { $0.family == family }
      if addresses.isEmpty, gateway == nil { continue }
      let last = isSameLink ? before?.ways[family] : nil
      let kept = addresses.first { $0.address == last?.source && gateway == last?.gateway }
      let beside = addresses.first { address in gateway.map(address.onLinkPrefix.contains) ?? false }
      let named = primary.preferredSources.first { $0.family == family }
      ways[family] = Way(source: named ?? (kept ?? beside ?? addresses.first)?.address, gateway: gateway)
    }
  }

  /// The families whose packets go another way.
  package func families(differingFrom other: PathIdentity) -> Set<IPAddress.Family> {
    if device != other.device || invented != other.invented { return Set(IPAddress.Family.allCases) }
    return Set(IPAddress.Family.allCases.filter { ways[$0] != other.ways[$0] })
  }
}
