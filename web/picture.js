/* picture.js: zooms and moves a picture of `pitot graph` in a browser: the wheel, dragging, a double click.
 * The matrix of the group "viewport" is all there is to change. In the page of `pitot serve` a click tells
 * which box was meant, by the name that its title begins with. */
(function () {
  var svg = document.documentElement, view = document.getElementById('viewport');
  var scale = 1, dx = 0, dy = 0, held = null, moved = false;
  function apply() {
    view.setAttribute('transform', 'matrix(' + [scale, 0, 0, scale, dx, dy].join(' ') + ')');
  }
  function point(event) {
    var p = svg.createSVGPoint();
    p.x = event.clientX;
    p.y = event.clientY;
    return p.matrixTransform(svg.getScreenCTM().inverse());
  }
  svg.addEventListener('wheel', function (event) {
    var p = point(event), factor = Math.pow(1.0015, -event.deltaY);
    factor = Math.min(Math.max(scale * factor, 0.05), 50) / scale;
    dx = p.x - (p.x - dx) * factor;
    dy = p.y - (p.y - dy) * factor;
    scale *= factor;
    apply();
    event.preventDefault();
  }, { passive: false });
  function nameOf(element) {
    var node = element.closest('.node');
    if (node === null) return '';
    var link = node.querySelector('a'), title = node.querySelector('title');
    var text = link ? link.getAttributeNS('http://www.w3.org/1999/xlink', 'title')
                    : title ? title.textContent : '';
    var name = /^(.*) \([^()]*\)$/.exec(text || '');
    return name === null ? '' : name[1];
  }
  if (window.parent !== window)
    svg.addEventListener('click', function (event) {
      if (moved) return;
      window.parent.postMessage({ pitotFunction: nameOf(event.target) },
                                window.location.origin);
    });
  svg.addEventListener('mousedown', function (event) {
    if (event.button !== 0) return;
    moved = false;
    var p = point(event);
    held = { x: p.x - dx, y: p.y - dy };
    event.preventDefault();
  });
  svg.addEventListener('mousemove', function (event) {
    if (held === null) return;
    var p = point(event);
    moved = moved || Math.abs(p.x - dx - held.x) + Math.abs(p.y - dy - held.y) > 4;
    dx = p.x - held.x;
    dy = p.y - held.y;
    apply();
  });
  svg.addEventListener('mouseup', function () { held = null; });
  svg.addEventListener('mouseleave', function () { held = null; });
  svg.addEventListener('dblclick', function () {
    scale = 1;
    dx = dy = 0;
    apply();
  });
})();
