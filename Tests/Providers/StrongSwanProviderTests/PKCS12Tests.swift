import NetworkTypes
import ProviderProtocol
import SeededRandom
import StrongSwanProvider
import Testing

/// An identity in one file, as browsers, authorities and Apple's profiles hand it out.
@Suite struct PKCS12Tests {
  static let password = Array("not-a-real-secret".utf8)
  /// With the authority's certificate.
  static var identity: [UInt8] { bytes(fromBase64: modern) ?? [] }

  private func file(_ text: String) throws -> [UInt8] { try #require(bytes(fromBase64: text)) }

  private func failure(_ file: [UInt8], _ password: [UInt8]?) -> TunnelFailure? {
    do throws(TunnelFailure) {
      _ = try PKCS12Identity(file, password: password)
      return nil
    } catch {
      return error
    }
  }

  @Test("the certificate, its key and those that lead to the authority come out in DER") func parts() throws {
    let identity = try PKCS12Identity(file(modern), password: Self.password)
    let own = try #require(bytes(fromBase64: alice))
    #expect(identity.certificate == own && identity.chain.count == 1)
    #expect(identity.key.first == 0x30 && identity.key.count > 100)
    // The two files have the same key.
    #expect(try PKCS12Identity(file(open), password: nil).key == identity.key)
    #expect(try PKCS12Identity(file(open), password: []).certificate == own)
  }

  @Test("a file as Keychain and older Windows write it is read (RC2, 3DES, SHA-1)") func oldAlgorithms() throws {
    let identity = try PKCS12Identity(file(old), password: Self.password)
    #expect(try identity.certificate == #require(bytes(fromBase64: alice)) && identity.chain.isEmpty)
  }

  @Test("what cannot be opened says which credential to correct") func refused() throws {
    let wrong = try failure(file(modern), Array("another".utf8))
    #expect(wrong?.text == "the credential `identity-password` does not open `identity`" && wrong?.code == "identity-unreadable")
    #expect(wrong?.help == .person)
    #expect(try failure(file(modern), nil)?.text.contains("name a file with it, `credentials: { identity-password: FILE }`") == true)
    #expect(failure(Array("nonsense".utf8), nil)?.text == "the credential `identity` is no file of PKCS#12 (.p12)")
    #expect(try failure(file(keyless), Self.password)?.text == "the credential `identity` holds no certificate with its key")
  }

  @Test("any bytes are read") func total() throws {
    var random = SplitMix64(seed: 7292)
    let files = try [file(modern), file(old), file(open)]
    var read = 0
    for round in 0..<600 {
      var bytes = files[round % 3]
      for _ in 0...Int(random.next() % 3) { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next()) }
      if random.next() % 4 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
      if failure(bytes, Self.password) == nil { read += 1 }
    }
    #expect(read < 600)
  }
}

private let alice = """
  MIIBIDCBxwIUf31qPrHnR+4bD+bJKNal7InaOVwwCgYIKoZIzj0EAwIwFDESMBAG
  A1UEAwwJQXV0aG9yaXR5MCAXDTI2MTEyNTE2NTUxNloYDzIwODEwODI4MTY1NTE2
  WjAQMQ4wDAYDVQQDDAVhbGljZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABK9g
  /p7JgDE2I5w0MACCoSYtV2I98JJPgoiL1L5uArEZxGoF1m7wARMjIOm0qnWCHxPM
  xBkNb7NJ/ZHOrbXZ204wCgYIKoZIzj0EAwIDSAAwRQIhAIHhU/GEDf5B4e6a5CMv
  ou0aOv5XBlf/rIkJNSpgjD2XAiAWtYtSkdVGT1zwp6VJ1Muz49vNTkZf9MqGQT7T
  UFSLPQ==
  """

private let modern = """
  MIIFXAIBAzCCBRIGCSqGSIb3DQEHAaCCBQMEggT/MIIE+zCCA7IGCSqGSIb3DQEHBqCCA6MwggOfAgEAMIIDmAYJKoZIhvcNAQcBMFcGCSqGSIb3DQEF
  DTBKMCkGCSqGSIb3DQEFDDAcBAhpBW9fLI9l8gICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJeXmJj39JBg0DDYeMlq1xqAggMwyrJJY9R6
  vjUixV43BdvKEr+Gr3+mXFLPWcARBJd5+T5DIn4vBSzk8G8D64JST2ZmNkIORddGwwKPJjvgsNu51kpT7Yde67SEcUTGOglKCK7UfSRs20N9QVaReXX7
  OJN1AJqtinz1f/AEh3fPaNdj52sgXVImCBaQhtqyt236+HHDd2swAc8vgaI28QRczRs7UdirJBdHmEjEvYWANJO0KlKxZYCS1Gd0lmnvJ6fO1Gb/A7pu
  thCoDXAO0EPK6E30ZXcKlILKGjcY/bJdmCRzA+GKaorMDkNYCF6K74mFE85PFyxrMliOHRzSkw2BN4P6Zs2BfoCJMT/EYBdBlxpI6ICVU/nh8Ix3KNxQ
  3I5qaVy3CJUwC17eueM9tBntC79uRUGbYXv124lpErWx/F+A7cZRyF0wd7aNEPb5xbCyqax/Q4DXLP2r9bTcPboJbAzHQKD2wCTNZi6lacX4K8xmz9mn
  oGi1cv6LG9cf+iWl/Z26q1W4A3tyV/XZEuuKtE0Cxc93Fqrrooy2Sdi6n6TOaCFdWv7XFs/c2FO19p6B8SIKQnuqszrUg0HJTbJSgDgpw/t72ULa2J+0
  vDsJT9Qn2gT2Y/1sCXbEBrmg4kWAmMSUMrEXONBe7uyAao6sviMUtqLNvpkZdiL2rAWxy8WvwJYwwo8/3Qiz2Tk2vzSWQkblbQcxbWcbr2glPUUjWbqY
  VvBVkwqSsha5L4OQwALpgD2s/U91szEiNBW0WhOLzaY56QMvYzSNUg/21VZUsJfoi83lsWJTFiWo1lVLYjFq6d2vmGFkxdZ2s3Jfh7raJodW7oZzBcI2
  xJZcUom47D6pn36n6PtQipmmbR5NFSedTYxHsl4ORTb358xE9/FdAVUSXbqQqTQ1zaVBsCzgMGy99+uBBlgoTQfNk3HOancuYHsLnhVUlBtnbdCvVyT3
  R7zrQby4GL7WD5j2Vk/5hRV3ppLIkIf5ocAI0msfFB5/KPKL+ac8iMyx9ASR1HxzPxXTGpIYe/YFtys+WUsB37KmbFrxRBDPoW6ahS9LbR8x2KBPUyIj
  HVFK/GxbHaeKkyReIpbrMQzM6G92tBm8Xuy4MIIBQQYJKoZIhvcNAQcBoIIBMgSCAS4wggEqMIIBJgYLKoZIhvcNAQwKAQKgge8wgewwVwYJKoZIhvcN
  AQUNMEowKQYJKoZIhvcNAQUMMBwECOstZ9CKZMNWAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQRYbp1aW+aXio3mgowHB0YgSBkEClGKCi
  WyjW/9b4wxmDNhxLFIqGD7fMvxRr2JRjosZnhynU0ZbYUmG/Ni1tbTLX5kXaLqrlceVkEemUm+0JyNsC4oEe2q7Tsmi1pDKLb4vawdDwgvKKmyYfhf2B
  henv7rb0EHmy9L7mNV0jywW4WJer8UP2ovd6lDpaSComChKsq6DKi2D3RrbdHzaVJlOVxDElMCMGCSqGSIb3DQEJFTEWBBR6vh6YUM3D3duLQX8ST+mi
  djJW2jBBMDEwDQYJYIZIAWUDBAIBBQAEIFEzywQAECLhJ6QMpzDw8yqrN09JXiPVYPJpkLH4SaG0BAg/LwLMsgG5QwICCAA=
  """

private let old = """
  MIIDIgIBAzCCAugGCSqGSIb3DQEHAaCCAtkEggLVMIIC0TCCAccGCSqGSIb3DQEHBqCCAbgwggG0AgEAMIIBrQYJKoZIhvcNAQcBMBwGCiqGSIb3DQEM
  AQYwDgQIFhkZA7Aje/cCAggAgIIBgHgL9H0zHUSbF8nuncRaXer6lbZvWJvmtfNANVPWtpkRQE8TFz1SaFM30c1R1EWrr3IhIixkiShlqT/BRAvOprq5
  f+SwfpH8WFs2xIeEHril5cxylL4i2qGpEn8JcOW0Z5h2WN0pXx4wM51EB3Aiu28bo4UNi7iEelKGuR43HYH5+E0zF3ajbRz4Qg2mUM64T0vXdBtVPDZb
  C30XyfuHJTXTEBBidBr4jlM11HDUksS6X5wXgkdORn0t9CvYULQ5djPhq/dnG72tF9QoEo2cwsqeFdkxCU9AKc/hg+q4XRpxvoC+ho0SBsqbRU5ZA1k+
  0IblSLQQJlMrlmy+klajGWK1qC5cxBUtkKEOpgzIUlejJ7XuEDpNYjRIYvqCE0OxIOD+fKw7R6ReAXj3EUiXu+NOv4SOMCI5AxYPIruWUWfbI/n4RVTS
  DXLB3JvQo+2wD7x1d8c2OgCoyLqqWPJkRSbk7OBbpXMLSUvXOs41So8RkjCUfoQKRW4PRUib0iN+PTCCAQIGCSqGSIb3DQEHAaCB9ASB8TCB7jCB6wYL
  KoZIhvcNAQwKAQKggbQwgbEwHAYKKoZIhvcNAQwBAzAOBAhM16cRJdap2QICCAAEgZDnGeOUeq9oIgalVuPa2VOHzR7Aro51qAvRuf6F7keEqkRZzcUq
  bWQVsrrR4AmTqTRlKuAu3+pQXteXiOjZYxhbQBcPEsKI9LtzNBP2v7pD4Mcb66/gQYfYeiBBaIn7onWHh/WixRxiPiJaLdhqS+TG86ki/8Sc2OOnmU8Q
  eWYQ/1180b5SoHex2DZKPJ3blmkxJTAjBgkqhkiG9w0BCRUxFgQUer4emFDNw93bi0F/Ek/ponYyVtowMTAhMAkGBSsOAwIaBQAEFJzx+seqRIwkGhNn
  66TZS5oiviJKBAhmsNKHk2WNlAICCAA=
  """

private let open = """
  MIIDrAIBAzCCA2IGCSqGSIb3DQEHAaCCA1MEggNPMIIDSzCCAgIGCSqGSIb3DQEHBqCCAfMwggHvAgEAMIIB6AYJKoZIhvcNAQcBMFcGCSqGSIb3DQEF
  DTBKMCkGCSqGSIb3DQEFDDAcBAg1pnbFpAVqQQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEG7C4h7AjJTZgtAaTXCulZGAggGA9yoW/eT9
  P/4jLYvdblOiowhr6A9hIX0m28VjZJubulUNurInBfAs8Z/d6rLbJH623We6qAJ9IQwOnX1HkIuiWmTXjWAVCTEdlmLM1Gi5hRPUg2B37/anclbpajUU
  QcH8rXCaKICjZhxGLZITPittDhtONWmZNmZh2kuxNqDYHPkF3t0Io/Dsbf8yfEe0uoqhHN6GOMl2cjSVLPlZGe0jH086TvqA/oeMdnDzicdGc/NzGvQA
  b17ivrie0FhvbMqjlBaKfwUE7Yo0+Xp2G4v+LQ3rzJK+tjfGro1l2INyCUoLxqg+1JJoFt9iEkvxV3+ukgrsGNqoKhDHMvdeuESozvTLeyEwQFNpZSqx
  3ZUAymniqeaZZS0eWxrfoTVK75ZaYG+G2fpvaMdJr9TYosT/B5txgyiv75pe8IBUcx8AAQ2SnJmuz++tia0ngeu3mPCcsr417lBDGCeHb04u5AfYzLGL
  UZ6Sn6xd6eXhE2gYsah4A7ibG5CvXTO0COF1JOLZMIIBQQYJKoZIhvcNAQcBoIIBMgSCAS4wggEqMIIBJgYLKoZIhvcNAQwKAQKgge8wgewwVwYJKoZI
  hvcNAQUNMEowKQYJKoZIhvcNAQUMMBwECGq9we5Bgf5QAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQYtHKYQXfdsQg/ORDm5sRIQSBkFxK
  z/RMRjM0Uev2rCUyyV3VDdvy777y1asAiWB4pLXDQ25cqfh4YJduXLY1e3iPQZbIHg8ge814KKtWaZh5wKEtdCLV7KyyD3g3zfoTJJIIn5RA8vUmmlb/
  css2PsSnWmFs1HTVNIT6qIfG2mqC0fmns8xEr7MAnG8UqDSf1lhFQNv3xceQLB3DwYZ/TsYDMzElMCMGCSqGSIb3DQEJFTEWBBR6vh6YUM3D3duLQX8S
  T+midjJW2jBBMDEwDQYJYIZIAWUDBAIBBQAEIHEty4AzjwWPyGJuaSUg+l7cZccjtSC5qCz06aj4TJ98BAj++4NO2+WGLQICCAA=
  """

private let keyless = """
  MIICRwIBAzCCAf0GCSqGSIb3DQEHAaCCAe4EggHqMIIB5jCCAeIGCSqGSIb3DQEHBqCCAdMwggHPAgEAMIIByAYJKoZIhvcNAQcBMFcGCSqGSIb3DQEF
  DTBKMCkGCSqGSIb3DQEFDDAcBAgbcus4ngcx5QICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEKupL+WYLMLhoqLtw9EU9tKAggFgcQ7QGXak
  ujwSBihEAuJRF4MB8hPXC5vXVyP+ZAQyhN5wuUsARC32VrhlUKlE/DKQdeEdoSWoKtXhv3Ssg9qn2y9Hl5R+bc5s7mqxLkb7lvmDoQAaZyZVcSHXucqI
  Dirn2HRbNE/EPsgxlC5VjNOyoDvShF1jXTqrspYySQ8Y8QfxX3FFrztkhY/NTBr4ycPLq/ZRe+AOL7I2+KYC2V1ou14BJkemwZENyHEF2B0LnY1edMpS
  qLF2Ks1N0rjYgjhcGwAoVVxn/8OU23tQMBqPoCKTDc/rmLX/jjc+b2t5DVvIIFPSRj14sBtMvGc3ufPVPe6GxD4RaN6BWUZ3gIWfm7/PZtMsDwFLl45F
  7kC7yBb0+3bGZWylhOvzTsuwISBhed5RlcNqZqAjpmBNvghoHUvrazu2fLGwYh8sgQv6Mj4GARvXkVmYAxp0reZ0oGpfNtR2zpUBpxpS85Yx6jHJbzBB
  MDEwDQYJYIZIAWUDBAIBBQAEILz3o/XczLrZslU6EWtMhcDzrFUv7awJMAKqU//8pMKTBAjLPKAjLYqvHgICCAA=
  """
