"""The style sheet of HTML pages: light and dark, wide and narrow, on paper."""

from typing import Final

STYLE: Final = """
:root{--bg:#fbfbfa;--card:#fff;--ink:#1d2126;--soft:#5a636e;--line:#dcdfe3;--code:#f0f1f3;
--looser:#b3261e;--looser-bg:#fdecea;--stricter:#7a4f00;--stricter-bg:#fff4d6;--open:#5b3fb0;--open-bg:#f1edfc;
--fine:#1c6b3a;--fine-bg:#e6f4ea;--accent:#0b57a4}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1c2024;--ink:#e7e9ec;--soft:#a4adb8;--line:#343a41;
--code:#262b31;--looser:#ff9d94;--looser-bg:#3d1f1d;--stricter:#f2c75c;--stricter-bg:#372c10;--open:#c3b1ff;
--open-bg:#2b2444;--fine:#86d6a3;--fine-bg:#17301f;--accent:#84bdf5}}
*{box-sizing:border-box}
html{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;background:var(--bg);
color:var(--ink);-webkit-text-size-adjust:100%}
body{margin:0}
main{max-width:72rem;margin:0 auto;padding:2rem 1.25rem 1rem}
footer{max-width:72rem;margin:0 auto;padding:1rem 1.25rem 2rem;color:var(--soft);font-size:.85rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .35rem}
h2{font-size:1.25rem;line-height:1.3;margin:2.25rem 0 .6rem;padding-bottom:.3rem;border-bottom:1px solid var(--line)}
h3{font-size:1.02rem;margin:1.4rem 0 .4rem}
p{margin:.4rem 0 .8rem;max-width:48rem}
.lead{color:var(--soft);font-size:1.05rem;overflow-wrap:anywhere}
.soft{color:var(--soft)}
code,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.86em;
overflow-wrap:anywhere}
code{background:var(--code);border-radius:4px;padding:.08em .3em}
.value{display:block;background:none;padding:0;white-space:pre-wrap}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;margin:1.1rem 0 .5rem}
.tile{display:flex;flex-direction:column-reverse;justify-content:flex-end;background:var(--card);
border:1px solid var(--line);border-left:4px solid var(--line);border-radius:8px;padding:.6rem .85rem}
.tile dt{color:var(--soft);font-size:.88rem;line-height:1.35}
.tile dd{margin:0;font-size:1.6rem;font-weight:650;line-height:1.25;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.tile.looser{border-left-color:var(--looser)}.tile.stricter{border-left-color:var(--stricter)}
.tile.reclassified{border-left-color:var(--open)}.tile.fine{border-left-color:var(--fine)}
.banner{border-radius:8px;padding:.65rem .9rem;margin:1rem 0;font-weight:600;overflow-wrap:anywhere}
.banner.bad{background:var(--looser-bg);color:var(--looser)}.banner.good{background:var(--fine-bg);color:var(--fine)}
.chip{display:inline-block;border-radius:999px;padding:.05rem .6rem;font-size:.82rem;font-weight:600;white-space:nowrap;
background:var(--code);color:var(--ink)}
.chip.looser,.chip.refuse,.chip.stop{background:var(--looser-bg);color:var(--looser)}
.chip.stricter,.chip.ask,.chip.reuse,.chip.note{background:var(--stricter-bg);color:var(--stricter)}
.chip.reclassified{background:var(--open-bg);color:var(--open)}
.chip.allow,.chip.fine{background:var(--fine-bg);color:var(--fine)}
.scroll{overflow-x:auto;margin:.5rem 0 1rem}
table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--line);border-radius:8px}
th{font-size:.8rem;color:var(--soft);text-align:left;font-weight:600;white-space:nowrap}
th,td{padding:.5rem .7rem;border-bottom:1px solid var(--line);vertical-align:top}
tbody tr:last-child td{border-bottom:0}
td{overflow-wrap:anywhere}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.changes td:nth-child(1){width:33%}.changes td:nth-child(2),.changes td:nth-child(3){width:21%}
.changes{margin:.5rem 0}
.cat{font-weight:650;background:none;padding:0}
.where{display:block;color:var(--soft);font-size:.82rem}
details{margin:.5rem 0}
summary{cursor:pointer;font-weight:600;padding:.2rem 0}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:0 1.25rem}
.bar{display:block;width:100%;height:6px;margin-top:.3rem}
.bar rect{fill:var(--accent)}
.run{list-style:none;margin:.5rem 0 0;padding:0 0 0 1.1rem;border-left:2px solid var(--line)}
.run>li{position:relative;padding:.15rem 0 .45rem}
.run>li::before{content:"";position:absolute;left:-1.48rem;top:.62rem;width:.65rem;height:.65rem;border-radius:50%;
background:var(--card);border:2px solid var(--soft)}
.run>li.refuse::before,.run>li.stop::before{background:var(--looser);border-color:var(--looser)}
.run>li.ask::before,.run>li.reuse::before,.run>li.note::before{background:var(--stricter);border-color:var(--stricter)}
.run>li.part::before{background:var(--accent);border-color:var(--accent)}
.run .head{display:flex;flex-wrap:wrap;gap:.15rem .6rem;align-items:baseline}
.run .head .seq{color:var(--soft);font-variant-numeric:tabular-nums;min-width:2.2rem}
.run pre{margin:.15rem 0 .2rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.84rem;color:var(--soft);
max-height:16rem;overflow:auto}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;margin:.8rem 0}
.card h3{margin-top:0;overflow-wrap:anywhere}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:.6rem;margin:.4rem 0 0}
.pair>div{border:1px solid var(--line);border-radius:6px;padding:.45rem .7rem}
.pair b{display:block;font-size:.8rem;color:var(--soft);font-weight:600}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1rem}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem .5rem}
figcaption{font-weight:600;font-size:.95rem;margin-bottom:.3rem}
figcaption span{display:block;font-weight:400;color:var(--soft);font-size:.84rem;line-height:1.35}
figure svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:14px;font-family:inherit}
.axis{stroke:var(--line);stroke-width:1}
.curve{fill:none;stroke:var(--accent);stroke-width:1.8;stroke-linejoin:round}
.second{stroke:var(--open)}.third{stroke:var(--stricter)}.fourth{stroke:var(--fine)}
.fill{fill:var(--accent)}.mark{stroke:var(--looser);stroke-width:1.4;stroke-dasharray:3 3}
.limit{stroke:var(--looser);stroke-width:1}
.strip{display:block;width:100%;min-width:36rem;height:auto}
.cell.ran{fill:var(--fine)}.cell.soft{fill:var(--stricter)}.cell.held{fill:var(--looser)}.cell.again{fill:var(--open)}
.cell.loop{fill:var(--stricter)}.strip a:hover rect{opacity:.7}
.run summary{font-weight:400;font-size:.88rem;color:var(--soft)}.run details{margin:.05rem 0}
.run>li:target{background:var(--code)}.run p{margin:.1rem 0 .25rem}
.key{display:flex;flex-wrap:wrap;gap:.1rem .9rem;margin:.35rem 0 .1rem;padding:0;list-style:none;font-size:.84rem;
color:var(--soft)}
.key svg{display:inline-block;width:1.4rem;height:.6rem;margin-right:.3rem;vertical-align:middle}
@media (max-width:40rem){
main{padding:1.25rem .9rem .5rem}footer{padding:1rem .9rem 1.5rem}h1{font-size:1.4rem}
.tiles{grid-template-columns:repeat(auto-fit,minmax(7.5rem,1fr));gap:.5rem}.tile dd{font-size:1.3rem}
.charts{grid-template-columns:minmax(0,1fr)}.columns{grid-template-columns:minmax(0,1fr)}
table,tbody,tr,td{display:block;width:100%}thead{display:none}
table{border:0;background:none}
tr{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:0 0 .6rem;padding:.35rem 0}
td,tbody tr:last-child td{border:0;padding:.2rem .8rem}
td::before{content:attr(data-label);display:block;font-size:.76rem;font-weight:600;color:var(--soft)}
td:empty{display:none}.n{text-align:left}
.changes td:nth-child(n){width:100%}
.names tr{display:flex;align-items:baseline;gap:.8rem;padding:.35rem .8rem}
.names td,.names tbody tr:last-child td{padding:0;width:auto}
.names td:first-child{flex:1}.names td::before{display:none}
}
@media print{
:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--code:#f3f3f3;--looser:#9c1c15;--looser-bg:#fff;
--stricter:#6b4500;--stricter-bg:#fff;--open:#4a3199;--open-bg:#fff;--fine:#155a2f;--fine-bg:#fff;--accent:#0b4a8c}
main,footer{max-width:none;padding-left:0;padding-right:0}
tr,figure,.card,.tile{break-inside:avoid}h2,h3{break-after:avoid}
details::details-content{content-visibility:visible;display:block;height:auto}
.scroll{overflow:visible}.run pre{max-height:none}.chip{border:1px solid currentColor}
}
"""
