"""EBCDIC code pages as differences from CCSID 500, for those Python has no (or a differing) codec. Data only.

CCSIDs 1140 to 1149 are the older pages with the euro in place of the currency sign; 0x15 is NEL (U+0085) and 0x25 LF
everywhere, as IBM's conversion tables have it.
"""

from __future__ import annotations

# CCSID -> cells "byte in hex, character" where the page differs from CCSID 500
VARIANTS: dict[int, str] = {
    273: "43{ 4AÄ 59~ 5AÜ 63[ 6Aö 7C§ A1ß B5@ C0ä CC¦ D0ü DC} E0Ö EC\\ FC]",
    277: "47} 4A# 5A¤ 5BÅ 67$ 6Aø 70¦ 7BÆ 7CØ 80@ 9C{ 9E[ 9F] A1ü C0æ D0å DC~",
    278: "43{ 47} 4A§ 51` 5A¤ 5BÅ 63# 67$ 6Aö 71\\ 79é 7BÄ 7CÖ 9F] A1ü B5[ C0ä CC¦ D0å DC~ E0É EC@",
    280: "44{ 48\\ 4A° 51] 54} 58~ 5Aé 6Aò 79ù 7B£ 7C§ 90[ A1ì B1# B5@ C0à CD¦ D0è DD` E0ç",
    284: "49¦ 4F| 5F¬ 69# 6Añ 7BÑ A1¨ BA^ BB! BD~",
    285: "4A$ 4F| 5A! 5B£ 5F¬ A1¯ B1[ BA^ BB] BC~",
    297: "44@ 48\\ 4A° 51{ 54} 5A§ 6Aù 79µ 7B£ 7Cà 90[ A0` A1¨ B1# B5] BD~ C0é D0è DD¦ E0ç",
    870: (
        "44ţ 46ă 47č 49ć 52ę 54ů 57ľ 58ĺ 64˝ 66Ă 67Č 69Ć 6A| 70ˇ 72Ę 74Ů 77Ľ 78Ĺ 80˘ 8Aś 8Bň 8Cđ 8Eř 8Fş 9Ał 9Bń 9Cš"
        " 9E˛ A0ą AAŚ ABŇ ACĐ AEŘ AFŞ B0˙ B1Ą B2ż B3Ţ B4Ż B6ž B7ź B8Ž B9Ź BAŁ BBŃ BCŠ CDŕ CFő DAĚ DBű DDť DFě EAď EDŔ"
        " EFŐ FAĎ FBŰ FDŤ"
    ),
    871: "4AÞ 5AÆ 5FÖ 79ð 7CÐ 8C` 8E{ 9C} 9E] A1ö AC@ AE[ BE\\ C0þ CC~ D0æ E0´ EC^",
    1025: (
        "42ђ 43ѓ 44ё 45є 46ѕ 47і 48ї 49ј 51љ 52њ 53ћ 54ќ 55ў 56џ 57Ъ 58№ 59Ђ 62Ѓ 63Ё 64Є 65Ѕ 66І 67Ї 68Ј 69Љ 6A| 70Њ"
        " 71Ћ 72Ќ 73\xad 74Ў 75Џ 76ю 77а 78б 80ц 8Aд 8Bе 8Cф 8Dг 8Eх 8Fи 90й 9Aк 9Bл 9Cм 9Dн 9Eо 9Fп A0я AAр ABс ACт"
        " ADу AEж AFв B0ь B1ы B2з B3ш B4э B5щ B6ч B7ъ B8Ю B9А BAБ BBЦ BCД BDЕ BEФ BFГ CAХ CBИ CCЙ CDК CEЛ CFМ DAН DBО"
        " DCП DDЯ DEР DFС E1§ EAТ EBУ ECЖ EDВ EEЬ EFЫ FAЗ FBШ FCЭ FDЩ FEЧ"
    ),
    1047: "4A¢ 4F| 5A! AD[ B0¬ BAÝ BB¨ BD]",
}

# euro page -> (page it comes from, cell that became the euro sign)
EURO: dict[int, tuple[int, int]] = {
    1141: (273, 0x9F),
    1142: (277, 0x5A),
    1143: (278, 0x5A),
    1144: (280, 0x9F),
    1145: (284, 0x9F),
    1146: (285, 0x9F),
    1147: (297, 0x9F),
    1148: (500, 0x9F),
    1149: (871, 0x9F),
}


def decoding_table(ccsid: int) -> str | None:
    """The 256 characters of a page of this module, or None for another code page."""
    if ccsid in EURO:
        base, cell = EURO[ccsid]
        characters = list(decoding_table(base) or _page_500())
        characters[cell] = "€"
        return "".join(characters)
    if ccsid not in VARIANTS:
        return None
    characters = list(_page_500())
    for entry in VARIANTS[ccsid].split(" "):
        characters[int(entry[:2], 16)] = entry[2:]
    return "".join(characters)


def _page_500() -> str:
    return bytes(range(256)).decode("cp500")
