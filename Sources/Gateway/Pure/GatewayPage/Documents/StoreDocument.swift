package import GatewayCore
package import JSON
internal import NetworkTypes

/// The output of `roamward-gateway store show --json`.
package struct StoreDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var place: String
  package var revision: Int64
  package var devices: Int
  package var sites: [Site]
  package var pools: [Pool]

  package init(place: String, revision: Int64, of directory: Directory) {
    (self.place, self.revision, devices) = (place, revision, directory.devices.count)
    (sites, pools) = (directory.sitesOfStore, directory.poolsOfStore)
  }

  private enum CodingKeys: String, DescribedKey {
    case version, place, revision, devices, sites, pools

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .place: "The file, or the place of the database without its password."
      case .revision: "The number of the store's last change."
      case .devices: "The number of devices."
      case .sites: "The gateways of the store."
      case .pools: "Their pools."
      }
    }
  }
}

extension StoreDocument {
  /// A pool.
  package struct Pool: Hashable, Sendable, Codable {
    package var pool: String
    package var prefix: String
    package var site: String?
    package var masquerade: Bool
    package var leased: Int64
    package var held: Int64
    package var free: Int64?

    private enum CodingKeys: String, DescribedKey {
      case pool, prefix, site, masquerade, leased, held, free

      var about: String {
        switch self {
        case .pool: "The name of the pool."
        case .prefix: "Its addresses."
        case .site: "The gateway at which they are; null: at all."
        case .masquerade: "Whether packets to other networks carry the gateway's address there."
        case .leased: "The number of addresses that devices have."
        case .held: "The number of addresses that removed devices had, and that are kept for them."
        case .free: "The number of free addresses; null: more than can be counted."
        }
      }
    }
  }

  /// A gateway.
  package struct Site: Hashable, Sendable, Codable {
    package var site: String
    package var own: Bool
    package var endpoint: String
    package var pools: [String]
    package var relayPort: Int?

    private enum CodingKeys: String, DescribedKey {
      case site, own, endpoint, pools
      case relayPort = "relay-port"

      var about: String {
        switch self {
        case .site: "The name of the gateway."
        case .own: "Whether it is the one that was asked."
        case .endpoint: "The host and port that clients reach."
        case .pools: "The names of its pools."
        case .relayPort: "The TCP port at which datagrams are relayed; null: they are not."
        }
      }
    }
  }
}

extension Directory {
  fileprivate var poolsOfStore: [StoreDocument.Pool] {
    allPools.map { pool in
      let usage = usage(of: pool)
      return StoreDocument.Pool(
        pool: "\(pool.name)", prefix: "\(pool.prefix)", site: pool.site.flatMap { sites[$0]?.name.description },
        masquerade: pool.isTranslated, leased: usage.leased, held: usage.held, free: usage.free)
    }
  }

  fileprivate var sitesOfStore: [StoreDocument.Site] {
    sortedSites.map { one in
      StoreDocument.Site(
        site: "\(one.name)", own: one.id == site?.id, endpoint: "\(one.endpoint)", pools: pools(at: one).map { "\($0.name)" },
        relayPort: one.offer.relayPort.map { Int($0) })
    }
  }
}
